#include "refine/gptq.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

constexpr std::int64_t kInputs = 24, kOutputs = 40;

// Integers from -top to top.
const auto round_to_integers = [](std::int64_t, std::int64_t, std::span<const float> values,
                                  std::span<float> rounded) {
  for (std::size_t i = 0; i < values.size(); ++i)
    rounded[i] = std::clamp(std::nearbyint(values[i]), -7.0F, 7.0F);
};

// XᵀX of correlated inputs with a mean: `rank` independent ones.
Square moment_of(std::int64_t inputs, std::int64_t rank, std::uint32_t seed, std::int64_t dead = -1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  Square mix(std::max(inputs, rank)), moment(inputs);
  for (double& one : mix.data) one = draw(random);
  for (std::int64_t row = 0; row < 200; ++row) {
    std::vector<double> source(static_cast<std::size_t>(rank)), x(static_cast<std::size_t>(inputs));
    for (double& one : source) one = draw(random) + 0.5;
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t k = 0; k < rank && i != dead; ++k)
        x[static_cast<std::size_t>(i)] += mix.at(i, k) * source[static_cast<std::size_t>(k)];
    }
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t k = 0; k < inputs; ++k)
        moment.at(i, k) += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(k)];
    }
  }
  return moment;
}

std::vector<float> random_weights(std::size_t count) {
  std::mt19937 random(11);
  std::normal_distribution<float> draw(0, 2);
  std::vector<float> values(count);
  for (float& one : values) one = draw(random);
  return values;
}

struct Result {
  std::vector<float> rounded;
  OutputError told;
};

Result rounded(const Square& moment, const std::vector<float>& values, const Outputs& outputs,
               const GptqOptions& options = {}, int threads = 2) {
  ThreadPool pool(threads);
  const auto unused = [](std::int64_t, std::span<const float>, std::span<float>, std::span<float>) {};
  const Neighbours neighbours(unused);
  const NearestAt at(round_to_integers);
  Result result{std::vector<float>(values.size()), {}};
  const RoundingTask task{values.data(), outputs, neighbours, nullptr, result.rounded, pool, &at};
  round_to_nearest(task);
  result.told = round_by_moment(moment, task, 0, outputs.count, options);
  return result;
}

// Σ e·H·eᵀ over the outputs.
double error_of(const Square& moment, const std::vector<float>& values, const std::vector<float>& rounded,
                const Outputs& outputs) {
  double sum = 0;
  const auto error = [&](std::int64_t output, std::int64_t i) {
    const auto at = static_cast<std::size_t>(output * outputs.stride + i * outputs.step);
    return static_cast<double>(values[at]) - static_cast<double>(rounded[at]);
  };
  for (std::int64_t output = 0; output < outputs.count; ++output) {
    for (std::int64_t i = 0; i < outputs.length; ++i) {
      for (std::int64_t k = 0; k < outputs.length; ++k)
        sum += error(output, i) * moment.at(i, k) * error(output, k);
    }
  }
  return sum;
}

std::vector<float> nearest_of(const std::vector<float>& values) {
  std::vector<float> result(values.size());
  round_to_integers(0, 1, values, result);
  return result;
}

const Outputs kRows = outputs_of(std::vector{kOutputs, kInputs}, 0);

TEST(UnitFactor, TimesTheDiagonalIsTheMatrix) {
  for (const std::int64_t n : {1, 5, 63, 64, 65, 150}) {
    ThreadPool pool(2);
    const Square moment = moment_of(n, n, 3);
    Square factor = moment;
    ASSERT_TRUE(factorize(factor, 0, pool)) << n;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = i; k < n; ++k) {
        double sum = 0;  // LDLᵀ, with Lᵀ behind the diagonal
        for (std::int64_t j = 0; j <= i; ++j)
          sum += (j == i ? 1 : factor.at(j, i)) * factor.at(j, j) * (j == k ? 1 : factor.at(j, k));
        ASSERT_NEAR(sum, moment.at(i, k), 1e-9 * moment.at(i, i) + 1e-9 * moment.at(k, k)) << n;
      }
    }
  }
}

TEST(UnitFactor, ASingularMatrixHasNone) {
  ThreadPool pool(1);
  Square moment = moment_of(8, 2, 3);
  EXPECT_FALSE(factorize(moment, 1e-9 * moment.at(0, 0), pool));
}

TEST(Gptq, HasLessErrorOfTheOutputsThanTheNearestValues) {
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    const Square moment = moment_of(kInputs, 6, seed);
    const double nearest = error_of(moment, values, nearest_of(values), kRows);
    for (const bool act_order : {false, true}) {
      const double without =
          error_of(moment, values,
                   rounded(moment, values, kRows, {.act_order = act_order, .sweeps = 0}).rounded, kRows);
      const double with =
          error_of(moment, values,
                   rounded(moment, values, kRows, {.act_order = act_order, .sweeps = 4}).rounded, kRows);
      EXPECT_LT(without, 0.5 * nearest);
      EXPECT_LT(with, 1.01 * without);  // it descends on the damped matrix
    }
  }
}

TEST(Gptq, OfIndependentInputsIsRoundingToNearest) {
  Square moment(kInputs);
  for (std::int64_t i = 0; i < kInputs; ++i) moment.at(i, i) = 1 + static_cast<double>(i);
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  EXPECT_EQ(rounded(moment, values, kRows).rounded, nearest_of(values));
}

TEST(Gptq, RoundsColumnsLikeRows) {
  const Square moment = moment_of(kInputs, 6, 4);
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  std::vector<float> turned(values.size());
  for (std::int64_t o = 0; o < kOutputs; ++o) {
    for (std::int64_t i = 0; i < kInputs; ++i)
      turned[static_cast<std::size_t>(i * kOutputs + o)] = values[static_cast<std::size_t>(o * kInputs + i)];
  }
  const auto rows = rounded(moment, values, kRows).rounded;
  const auto columns = rounded(moment, turned, outputs_of(std::vector{kInputs, kOutputs}, 1)).rounded;
  for (std::int64_t o = 0; o < kOutputs; ++o) {
    for (std::int64_t i = 0; i < kInputs; ++i)
      ASSERT_EQ(columns[static_cast<std::size_t>(i * kOutputs + o)],
                rows[static_cast<std::size_t>(o * kInputs + i)]);
  }
}

TEST(Gptq, IsTheSameForAnyNumberOfThreads) {
  const Square moment = moment_of(kInputs, 6, 5);
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  const Result one = rounded(moment, values, kRows, {}, 1), four = rounded(moment, values, kRows, {}, 4);
  EXPECT_EQ(one.rounded, four.rounded);
  EXPECT_EQ(one.told.rounded, four.told.rounded);
}

TEST(Gptq, FewerSamplesThanInputsAndDeadInputsAreDamped) {
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  for (const double damp : {0.0, 0.01}) {
    const Square moment = moment_of(kInputs, 2, 6, 5);
    const Result result = rounded(moment, values, kRows, {.damp = damp});
    for (std::int64_t o = 0; o < kOutputs; ++o) {  // an input without values: to nearest
      const auto at = static_cast<std::size_t>(o * kInputs + 5);
      ASSERT_EQ(result.rounded[at], nearest_of(values)[at]);
    }
    EXPECT_LT(error_of(moment, values, result.rounded, kRows),
              0.3 * error_of(moment, values, nearest_of(values), kRows));
  }
}

TEST(Gptq, WithoutInputsRoundsToNearest) {
  const std::vector<float> values = random_weights(kInputs * kOutputs);
  EXPECT_EQ(rounded(Square(kInputs), values, kRows).rounded, nearest_of(values));
}

}  // namespace
}  // namespace anybit::quantizing
