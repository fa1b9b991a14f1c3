// Scores of ai.onnx.ml classifiers: transforms, and the label of the winner.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ops/frame.hpp"

namespace anybit::ops {

enum class Transform { none, softmax, logistic, softmax_zero, probit };  // in the order of TreeEnsemble-5

Result<Transform> transform_of(std::string_view name);
void transform(Transform how, std::span<float> scores);
// The scores of both classes of a binary classifier from its single score, transformed. `share`: the score is
// a probability, so the other class gets 1 - score.
void transform_pair(Transform how, bool share, float score, float* both);

// The labels of a classifier, strings or integers, as output 0 with `rows` rows; null if the output is
// unused.
class Labels {
 public:
  static Result<Labels> of(const Frame& frame, std::string_view texts, std::string_view numbers);
  std::size_t count() const { return texts_.empty() ? numbers_.size() : texts_.size(); }
  Result<Array*> output(Frame& frame, std::int64_t rows) const;
  void put(Array* output, std::int64_t row, std::size_t label) const;

 private:
  std::span<const std::string> texts_;
  std::span<const std::int64_t> numbers_;
};

// Index of the largest score, the first one among equals.
std::size_t winner(std::span<const float> scores);

// Input rows of features: [rows, width], or one row.
struct Rows {
  std::int64_t count = 1, width = 1;
};
Result<Rows> rows_of(const Frame& frame);
// One feature as double.
double feature_at(const Array& array, std::int64_t i);

}  // namespace anybit::ops
