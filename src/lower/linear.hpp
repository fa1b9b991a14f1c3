// Number formats whose values are those of an ONNX type times what groups share: constants in them can be
// written as DequantizeLinear of that type.
#pragma once

#include "anybit/result.hpp"
#include "base/thread_pool.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

struct LinearType {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: the format is none
  std::int64_t opset = 1;  // whose DequantizeLinear knows the type, and the groups of this use
};

// Integers may be in a wider type than their own, floats may not: a file in a format of few bits shall not
// grow unseen. Formats that Cast knows are none: they have no scales.
Result<LinearType> linear_type(const formats::Use& use);

// The same constant, value by value, of a use that linear_type() knows; only zeros may lose their sign. An
// error if float32 does not have one of its scales.
Result<Constant> to_linear(const Constant& packed, ThreadPool& pool);

}  // namespace anybit::lower
