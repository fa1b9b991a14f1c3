#include "evaluate/levels.hpp"

#include <gtest/gtest.h>

namespace anybit::evaluate {
namespace {

OutputPart classes(std::int64_t rows, std::int64_t agreed) {
  OutputPart part;
  part.kind = "classes";
  part.count = part.rows = rows;
  part.agreed = agreed;
  part.sqnr = 5;
  return part;
}

TEST(Levels, AgreementDecidesForClasses) {
  EXPECT_EQ(level_of(classes(1000, 990)), Level::ok);
  EXPECT_EQ(level_of(classes(1000, 900)), Level::degraded);
  EXPECT_EQ(level_of(classes(1000, 250)), Level::broken);
}

// The same divergence is the same harm, however many rows have flipped or how large the logits are.
TEST(Levels, HarmToClassesIsTheirDivergence) {
  OutputPart part = classes(1000, 700);
  part.divergence = 0;
  EXPECT_EQ(harm_of(part), 0);
  part.divergence = 0.003;
  EXPECT_DOUBLE_EQ(harm_of(part), 1);
  part.sqnr = -30;
  EXPECT_DOUBLE_EQ(harm_of(part), 1);
}

// One of eight rows may be chance.
TEST(Levels, FewRowsProveLittle) {
  EXPECT_EQ(level_of(classes(8, 8)), Level::ok);
  EXPECT_EQ(level_of(classes(8, 7)), Level::degraded);
  EXPECT_EQ(level_of(classes(8, 2)), Level::broken);
}

TEST(Levels, SqnrDecidesForValues) {
  OutputPart part;
  part.count = 10;
  part.sqnr = 30;
  EXPECT_EQ(level_of(part), Level::ok);
  part.sqnr = 10;
  EXPECT_EQ(level_of(part), Level::degraded);
  part.sqnr = 3;
  EXPECT_EQ(level_of(part), Level::broken);
}

TEST(Levels, DecisionsAndSqnrDecideForScores) {
  OutputPart part;
  part.kind = "probabilities";
  part.count = 1000;
  part.sqnr = 12;
  part.threshold = 0.25;
  part.before = 50;
  part.after = 50;
  part.both = 49;
  EXPECT_EQ(level_of(part), Level::ok);
  part.both = 40;
  EXPECT_EQ(level_of(part), Level::degraded);
  part.both = 10;
  EXPECT_EQ(level_of(part), Level::broken);
  part.both = 50;
  part.sqnr = 2;
  EXPECT_EQ(level_of(part), Level::broken);
}

TEST(Levels, LabelsDecideByPointsOfAccuracy) {
  Comparison comparison;
  comparison.labelled = 1000;
  comparison.reference_top1 = 900;
  comparison.other_top1 = 895;
  EXPECT_EQ(level_of_labels(comparison), Level::ok);
  comparison.other_top1 = 870;
  EXPECT_EQ(level_of_labels(comparison), Level::degraded);
  comparison.other_top1 = 500;
  EXPECT_EQ(level_of_labels(comparison), Level::broken);
  EXPECT_EQ(reason_of_labels(comparison), "top-1 accuracy 90.00 % -> 50.00 %");
}

}  // namespace
}  // namespace anybit::evaluate
