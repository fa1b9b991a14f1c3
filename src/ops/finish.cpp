#include "ops/finish.hpp"

#include <algorithm>
#include <optional>

#include "kernels/conv/activate.hpp"
#include "kernels/elementwise/float16.hpp"

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
  kernels::activate(step.activation, y);
}

// Limits that a rounding to float16 behind them applies in the same pass. Of a zero, either sign could be the
// limit.
std::optional<kernels::FloatLimits> limits_of(const FinishStep& step) {
  const kernels::Activation& activation = step.activation;
  if (step.through != graph::ElementType::undefined || activation.kind != kernels::Activation::Kind::clip ||
      !(activation.a < 0 && activation.b > 0))
    return std::nullopt;
  return kernels::FloatLimits{activation.a, activation.b};
}

void apply_all(std::span<const FinishStep> steps, std::span<float> y) {
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto limits = limits_of(steps[k]);
    if (limits && k + 1 < steps.size() && steps[k + 1].through == graph::ElementType::float16) {
      kernels::through_float16(y.data(), y.data(), y.size(), *limits);
      ++k;
    } else {
      apply(steps[k], y);
    }
  }
}

}  // namespace

void finish(std::span<const FinishStep> steps, std::span<float> y) {
  if (steps.empty()) return;
  for (std::size_t i = 0; i < y.size(); i += kFinishPiece) {
    apply_all(steps, y.subspan(i, std::min(kFinishPiece, y.size() - i)));
  }
}

}  // namespace anybit::ops
