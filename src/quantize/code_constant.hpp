// Weights in packed codes of a number format.
#pragma once

#include "graph/tensor.hpp"
#include "lower/plan.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

struct CodedWeight {
  lower::CodedConstant constant;
  std::int64_t bytes = 0;      // of codes and fields
  double signal_to_noise = 0;  // dB
};

// An error if a value is not finite, or if the format cannot be used on the tensor as the note wants it.
Result<CodedWeight> code_constant(const CodedConstantNote& note, int threads);

}  // namespace anybit::quantizing
