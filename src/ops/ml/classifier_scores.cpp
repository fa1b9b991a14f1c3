#include "ops/ml/classifier_scores.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/math.hpp"

namespace anybit::ops {
namespace {

float logistic(float x) { return static_cast<float>(1 / (1 + math::exp(-static_cast<double>(x)))); }

// The inverse of the normal distribution function, by Winitzki's approximation of the inverse error function,
// as in ONNX Runtime.
float probit(float score) {
  const float x = 2 * score - 1;
  const float sign = x < 0 ? -1.0f : 1.0f;
  const float log = math::log((1 - x) * (1 + x));
  const float v = 2 / (std::numbers::pi_v<float> * 0.147f) + 0.5f * log;
  const float v2 = 1 / 0.147f * log;
  return std::numbers::sqrt2_v<float> * sign * std::sqrt(-v + std::sqrt(v * v - v2));
}

// `zeros_stay` (SOFTMAX_ZERO): scores of (nearly) 0 are scaled by e^(-max) instead of exponentiated.
void softmax(std::span<float> scores, bool zeros_stay) {
  constexpr float kNothing = 1e-7f;
  const float largest = *std::ranges::max_element(scores);
  const float other = math::exp(-largest);
  float sum = 0;
  for (float& score : scores) {
    const bool zero = zeros_stay && std::abs(score) <= kNothing;
    score = zero ? score * other : math::exp(score - largest);
    sum += score;
  }
  for (float& score : scores) score = sum == 0 ? score : score / sum;
}

}  // namespace

Result<Transform> transform_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames))
    return wrong(fmt::format("post_transform is '{}'", shown(name)),
                 "NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
  return static_cast<Transform>(found - kNames);
}

void transform(Transform how, std::span<float> scores) {
  if (scores.empty()) return;
  if (how == Transform::softmax || how == Transform::softmax_zero) {
    softmax(scores, how == Transform::softmax_zero);
  } else if (how != Transform::none) {
    for (float& score : scores) score = how == Transform::logistic ? logistic(score) : probit(score);
  }
}

void transform_pair(Transform how, bool share, float score, float* both) {
  if (share) {
    both[0] = 1 - score;
    both[1] = score;
    return;
  }
  both[0] = -score;
  both[1] = score;
  if (how == Transform::logistic) transform(how, {both, 2});
}

Result<Labels> Labels::of(const Frame& frame, std::string_view texts, std::string_view numbers) {
  Labels labels;
  if (const auto list = frame.texts(texts)) labels.texts_ = *list;
  if (const auto list = frame.ints(numbers); list && labels.texts_.empty()) labels.numbers_ = *list;
  if (labels.count() == 0) return wrong("there are no class labels", fmt::format("{} or {}", texts, numbers));
  return labels;
}

Result<Array*> Labels::output(Frame& frame, std::int64_t rows) const {
  if (!frame.wants(0)) return nullptr;
  return frame.out(0, texts_.empty() ? ElementType::int64 : ElementType::string, {rows});
}

void Labels::put(Array* output, std::int64_t row, std::size_t label) const {
  if (!output) return;
  if (texts_.empty()) {
    output->mutable_data<std::int64_t>()[row] = numbers_[label];
  } else {
    output->mutable_data<std::string>()[row] = texts_[label];
  }
}

std::size_t winner(std::span<const float> scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

Result<Rows> rows_of(const Frame& frame) {
  const Array& in = frame.in(0);
  if (in.rank() < 1 || in.rank() > 2 || !for_number(in.type(), [](auto) {}))
    return wrong(fmt::format("the input is {}", to_string(frame.datum(0))), "rows of numbers");
  return in.rank() == 2 ? Rows{in.dim(0), in.dim(1)} : Rows{1, in.dim(0)};
}

double feature_at(const Array& array, std::int64_t i) {
  double value = 0;
  for_number(array.type(),
             [&]<class T>(T) { value = static_cast<double>(static_cast<Computed<T>>(array.data<T>()[i])); });
  return value;
}

}  // namespace anybit::ops
