#include "ops/finish.hpp"

#include <algorithm>
#include <vector>

#include "kernels/elementwise/float16.hpp"
#include "kernels/elementwise/unary.hpp"

namespace anybit::ops {
namespace {

constexpr std::size_t kFinishPiece = 2048;

void through_bfloat16(std::span<float> y) {
  std::uint16_t run[kFinishPiece];
  for (std::size_t i = 0; i < y.size(); i += kFinishPiece) {
    const std::size_t n = std::min(kFinishPiece, y.size() - i);
    kernels::to_bfloat16(y.data() + i, run, n);
    kernels::from_bfloat16(run, y.data() + i, n);
  }
}

void apply(const FinishStep& step, std::span<float> y) {
  if (step.through == graph::ElementType::float16)
    return kernels::through_float16(y.data(), y.data(), y.size());
  if (step.through == graph::ElementType::bfloat16) return through_bfloat16(y);
  activate(step.activation, y);
}

}  // namespace

void activate(const kernels::Activation& activation, std::span<float> y) {
  using kernels::Map;
  const auto map = [&](Map function, float a = 0, float b = 0) {
    kernels::map(function, y.data(), y.data(), y.size(), a, b);
  };
  switch (activation.kind) {
    case kernels::Activation::Kind::none:
      return;
    case kernels::Activation::Kind::relu:
      return map(Map::relu);
    case kernels::Activation::Kind::leaky_relu:
      return map(Map::leaky_relu, activation.a);
    case kernels::Activation::Kind::clip:
      return map(Map::clip, activation.a, activation.b);
    case kernels::Activation::Kind::sigmoid:
      return map(Map::sigmoid);
    case kernels::Activation::Kind::tanh:
      return map(Map::tanh);
    case kernels::Activation::Kind::hard_sigmoid:
      return map(Map::hard_sigmoid, activation.a, activation.b);
    case kernels::Activation::Kind::hard_swish:
      return map(Map::hard_swish, 1.0f / 6, 0.5f);
    case kernels::Activation::Kind::silu: {  // two nodes compute it: -∞ · 0 is NaN
      const std::vector<float> x(y.begin(), y.end());
      map(Map::sigmoid);
      for (std::size_t i = 0; i < y.size(); ++i) y[i] *= x[i];
    }
  }
}

void finish(std::span<const FinishStep> steps, std::span<float> y) {
  if (steps.empty()) return;
  for (std::size_t i = 0; i < y.size(); i += kFinishPiece) {
    const std::span<float> run = y.subspan(i, std::min(kFinishPiece, y.size() - i));
    for (const FinishStep& step : steps) apply(step, run);
  }
}

}  // namespace anybit::ops
