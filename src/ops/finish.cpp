#include "ops/finish.hpp"

#include <algorithm>

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

}  // namespace

void finish(std::span<const FinishStep> steps, std::span<float> y) {
  if (steps.empty()) return;
  for (std::size_t i = 0; i < y.size(); i += kFinishPiece) {
    const std::span<float> run = y.subspan(i, std::min(kFinishPiece, y.size() - i));
    for (const FinishStep& step : steps) apply(step, run);
  }
}

}  // namespace anybit::ops
