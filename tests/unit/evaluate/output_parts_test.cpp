#include "evaluate/output_parts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "evaluate/levels.hpp"

namespace anybit::evaluate {
namespace {

constexpr std::uint32_t kSeed = 20261119;

// A detector's output [1, 4 + classes + masks, anchors]: boxes in pixels, scores of which few are high, mask
// coefficients.
struct Detector {
  static constexpr std::int64_t kClasses = 80, kMasks = 32, kAnchors = 300, kChannels = 4 + kClasses + kMasks;
  std::vector<std::int64_t> dims{1, kChannels, kAnchors};
  std::vector<float> values = std::vector<float>(kChannels * kAnchors);

  explicit Detector(std::mt19937& random) {
    std::uniform_real_distribution<float> pixels(5, 640), low(1e-6F, 0.01F);
    std::normal_distribution<float> mask(0, 0.7F);
    for (std::int64_t c = 0; c < kChannels; ++c) {
      for (std::int64_t a = 0; a < kAnchors; ++a)
        at(c, a) = c < 4 ? pixels(random) : c < 4 + kClasses ? low(random) : mask(random);
    }
    for (std::int64_t a = 0; a < 20; ++a) at(4 + a, a * 7) = 0.6F;
  }
  float& at(std::int64_t channel, std::int64_t anchor) {
    return values[static_cast<std::size_t>(channel * kAnchors + anchor)];
  }
};

std::vector<OutputPart> parts_of(const std::vector<std::int64_t>& dims, const std::vector<float>& reference,
                                 const std::vector<float>& other) {
  OutputParts parts;
  parts.add(dims, reference, other);
  return parts.parts("output");
}

std::vector<float> transposed(const Detector& detector) {
  std::vector<float> turned;
  for (std::int64_t a = 0; a < Detector::kAnchors; ++a) {
    for (std::int64_t c = 0; c < Detector::kChannels; ++c)
      turned.push_back(detector.values[static_cast<std::size_t>(c * Detector::kAnchors + a)]);
  }
  return turned;
}

TEST(OutputParts, BoxesScoresAndMaskCoefficientsAreFoundInOneOutput) {
  std::mt19937 random(kSeed);
  Detector before(random);
  Detector after = before;
  for (std::int64_t c = 4; c < 84; ++c) {
    for (std::int64_t a = 0; a < Detector::kAnchors; ++a) after.at(c, a) = 0;  // every detection is lost
  }
  const auto parts = parts_of(before.dims, before.values, after.values);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].first, 0);
  EXPECT_EQ(parts[0].last, 3);
  EXPECT_EQ(parts[1].first, 4);
  EXPECT_EQ(parts[1].last, 83);
  EXPECT_EQ(parts[1].kind, "probabilities");
  EXPECT_EQ(parts[2].last, 115);
  EXPECT_EQ(parts[1].before, 20);
  EXPECT_EQ(parts[1].after, 0);
  EXPECT_EQ(level_of(parts[0]), Level::ok);
  EXPECT_EQ(level_of(parts[1]), Level::broken);
  EXPECT_EQ(level_of(parts[2]), Level::ok);
  EXPECT_EQ(reason_of(parts[1]), "output, channels 4-83 (scores): 0.0 dB, keeps 0 of 20 above 0.5");
}

// A pose detector: a box, its score, then x, y and visibility of 17 keypoints, which alternate too often for
// parts of their own.
TEST(OutputParts, AScoreBeforeKeypointsIsAPartOfItsOwn) {
  std::mt19937 random(kSeed);
  constexpr std::int64_t kChannels = 56, kAnchors = 200;
  std::uniform_real_distribution<float> pixels(5, 640), unit(0, 1), low(1e-6F, 0.01F);
  std::vector<float> before(kChannels * kAnchors), after;
  for (std::int64_t c = 0; c < kChannels; ++c) {
    for (std::int64_t a = 0; a < kAnchors; ++a) {
      const bool visible = c > 4 && (c - 5) % 3 == 2;
      before[static_cast<std::size_t>(c * kAnchors + a)] = c == 4    ? (a < 15 ? 0.8F : low(random))
                                                           : visible ? unit(random)
                                                                     : pixels(random);
    }
  }
  after = before;
  std::fill_n(after.begin() + 4 * kAnchors, kAnchors, 0.0F);
  const auto parts = parts_of({1, kChannels, kAnchors}, before, after);
  ASSERT_EQ(parts.size(), 3U) << "seed " << kSeed;
  EXPECT_EQ(parts[1].first, 4);
  EXPECT_EQ(parts[1].last, 4);
  EXPECT_EQ(level_of(parts[1]), Level::broken);
  EXPECT_EQ(parts[2].last, 55);
  EXPECT_EQ(level_of(parts[2]), Level::ok);
}

TEST(OutputParts, TheAxisOfTheChannelsIsFoundFromTheData) {
  std::mt19937 random(kSeed);
  const Detector detector(random);
  const std::vector<float> turned = transposed(detector);
  const auto parts = parts_of({1, Detector::kAnchors, Detector::kChannels}, turned, turned);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].axis, 2);
  EXPECT_EQ(parts[1].first, 4);
  EXPECT_EQ(parts[1].last, 83);
}

TEST(OutputParts, SamplesWithOtherNumbersOfAnchorsAreAdded) {
  OutputParts parts;
  std::mt19937 random(kSeed);
  const Detector detector(random);
  const std::vector<float> turned = transposed(detector);
  parts.add(std::vector<std::int64_t>{1, 300, 116}, turned, turned);
  parts.add(std::vector<std::int64_t>{1, 100, 116}, std::span(turned).first(11600),
            std::span(turned).first(11600));
  const auto found = parts.parts("output");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].count, 4 * 400);
}

TEST(OutputParts, FeatureMapsAndEmbeddingsHaveOnePart) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal(0, 1);
  std::uniform_real_distribution<float> scale(0.2F, 3);
  std::vector<float> relu(64 * 49), embedding(4 * 384);
  for (std::size_t c = 0; c < 64; ++c) {
    const float size = scale(random);
    for (std::size_t i = 0; i < 49; ++i) relu[c * 49 + i] = std::max(0.0F, size * normal(random));
  }
  for (float& value : embedding) value = 0.05F * normal(random);
  const auto maps = parts_of({1, 64, 7, 7}, relu, relu);
  ASSERT_EQ(maps.size(), 1U) << "seed " << kSeed;
  EXPECT_EQ(maps[0].kind, "values");
  const auto vectors = parts_of({4, 384}, embedding, embedding);
  ASSERT_EQ(vectors.size(), 1U);
  EXPECT_EQ(vectors[0].kind, "values");
}

TEST(OutputParts, ProbabilitiesThatSumToOneAreClasses) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> rows(20 * 10);
  for (std::size_t r = 0; r < 20; ++r) {
    float sum = 0;
    for (std::size_t c = 0; c < 10; ++c) sum += rows[r * 10 + c] = std::exp(normal(random));
    for (std::size_t c = 0; c < 10; ++c) rows[r * 10 + c] /= sum;
  }
  const auto parts = parts_of({1, 20, 10}, rows, rows);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].kind, "classes");
  EXPECT_EQ(parts[0].rows, 20);
  EXPECT_EQ(parts[0].agreed, 20);
}

// An OCR net that answers "blank" everywhere agrees on most frames, and has lost every letter.
TEST(OutputParts, FramesWhereBothModelsSayBlankDoNotCount) {
  std::vector<float> before, after;
  for (int frame = 0; frame < 40; ++frame) {
    const bool letter = frame % 8 == 0;
    before.insert(before.end(), {letter ? 0.1F : 0.9F, letter ? 0.9F : 0.1F});
    after.insert(after.end(), {0.9F, 0.1F});
  }
  const auto parts = parts_of({1, 40, 2}, before, after);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].rows, 5);
  EXPECT_EQ(parts[0].agreed, 0);
  EXPECT_EQ(level_of(parts[0]), Level::broken);
}

double divergence_between(const std::vector<float>& before, const std::vector<float>& after) {
  return parts_of({static_cast<std::int64_t>(before.size() / 2), 1, 2}, before, after)[0].divergence;
}

TEST(OutputParts, DivergenceIsThatOfJensenAndShannon) {
  const std::vector<float> before = {0.9F, 0.1F, 0.2F, 0.8F};
  EXPECT_EQ(divergence_between(before, before), 0);
  const auto one = [](double p, double q) {  // of (p, 1 - p) and (q, 1 - q)
    const double m = (p + q) / 2;
    return (p * std::log(p / m) + q * std::log(q / m) + (1 - p) * std::log((1 - p) / (1 - m)) +
            (1 - q) * std::log((1 - q) / (1 - m))) /
           2;
  };
  const std::vector<float> after = {0.6F, 0.4F, 0.3F, 0.7F};
  EXPECT_NEAR(divergence_between(before, after), (one(0.9, 0.6) + one(0.2, 0.3)) / 2, 1e-6);
}

// SQNR sees a large error, decisions and probabilities see none.
TEST(OutputParts, AShiftOfAllLogitsIsNoDivergence) {
  std::vector<float> before, after;
  for (int row = 0; row < 20; ++row) {
    for (int c = 0; c < 10; ++c)
      before.push_back(c == row % 10 ? 6.0F : -3.0F + 0.25F * static_cast<float>(c % 3));
  }
  for (const float value : before) after.push_back(value + 4);
  const auto parts = parts_of({20, 10}, before, after);
  ASSERT_EQ(parts[0].kind, "classes");
  EXPECT_NEAR(parts[0].divergence, 0, 1e-9);
  EXPECT_LT(parts[0].sqnr, 5);
}

TEST(OutputParts, NaNIsAsFarAsCanBe) {
  EXPECT_NEAR(divergence_between({0.9F, 0.1F, 0.2F, 0.8F}, {0.9F, 0.1F, NAN, 0.8F}), std::numbers::ln2 / 2,
              1e-9);
  EXPECT_NEAR(divergence_between({1, 0, 0, 1}, {0, 1, 1, 0}), std::numbers::ln2, 1e-9);
}

TEST(OutputParts, CoordinatesAreNoClasses) {
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> pixels(0, 640);
  std::vector<float> boxes(50 * 4);
  for (float& value : boxes) value = pixels(random);
  EXPECT_EQ(parts_of({50, 4}, boxes, boxes)[0].kind, "values");
}

TEST(OutputParts, LogitsAreClasses) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(30 * 10);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = normal(random) + (i % 10 == i / 10 % 10 ? 8.0F : 0.0F);
  const auto parts = parts_of({30, 10}, logits, logits);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].kind, "classes");
}

TEST(OutputParts, NothingToFindIsSaid) {
  const std::vector<float> scores(100, 0.02F);
  const auto parts = parts_of({1, 1, 100}, scores, scores);
  EXPECT_EQ(reason_of(parts[0]),
            "output (scores): the same values, none above 0.1 in either model: the data has nothing to find");
}

TEST(OutputParts, NanInTheOtherModelIsBroken) {
  const std::vector<float> values{0.5F, 2, -3, 4}, nan{0.5F, 2, NAN, 4};
  EXPECT_EQ(level_of(parts_of({2, 2}, values, nan)[0]), Level::broken);
}

}  // namespace
}  // namespace anybit::evaluate
