// Weights in packed codes of a number format.
#pragma once

#include "base/thread_pool.hpp"
#include "graph/tensor.hpp"
#include "lower/plan.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

struct CodedWeight {
  lower::CodedConstant constant;
  std::int64_t bytes = 0;      // of codes and fields
  double signal_to_noise = 0;  // dB
  std::int64_t moved = 0;      // values that are not rounded to the nearest, for the sums
};

// An error if a value is not finite, or if the format cannot be used on the tensor as the note wants it.
Result<CodedWeight> code_constant(const CodedConstantNote& note, ThreadPool& pool);

}  // namespace anybit::quantizing
