// Elementwise float32 steps that follow an operator and are applied to its first output in place: an
// activation, or rounding to the values of a 16-bit float.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/element_type.hpp"
#include "kernels/conv/activation.hpp"

namespace anybit::ops {

struct FinishStep {
  kernels::Activation activation = {};
  // float16 or bfloat16: round to its nearest value, instead of an activation.
  graph::ElementType through = graph::ElementType::undefined;
};

// Applies the steps one after the other, run by run, while a run is in the cache.
void finish(std::span<const FinishStep> steps, std::span<float> y);

// Calls body(first, last) for [first, last), and finishes these elements of y: run by run if there are steps.
template <class Body>
void finished_runs(std::span<const FinishStep> steps, float* y, std::int64_t first, std::int64_t last,
                   const Body& body) {
  constexpr std::int64_t kRun = std::int64_t{1} << 13;
  if (steps.empty()) return body(first, last);
  for (std::int64_t i = first; i < last; i += kRun) {
    const std::int64_t end = std::min(i + kRun, last);
    body(i, end);
    finish(steps, {y + i, static_cast<std::size_t>(end - i)});
  }
}

}  // namespace anybit::ops
