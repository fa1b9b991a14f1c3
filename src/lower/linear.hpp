// Number formats whose values are those of an ONNX type times shared scales: constants in such a format can
// be written as DequantizeLinear of that type.
#pragma once

#include "anybit/result.hpp"
#include "base/thread_pool.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

struct LinearType {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: there is no such type
  std::int64_t opset = 1;  // the opset whose DequantizeLinear supports the type and the granularity
};

// Returns the ONNX type of a format. An integer type may be wider than the format, a floating-point type may
// not, so that files do not grow unnoticed. Formats without scales, which Cast supports, have none.
Result<LinearType> linear_type(const formats::Use& use);

// Converts a packed constant to DequantizeLinear form. All values are equal, except that zeros may lose their
// sign. Requires linear_type(). An error if float32 cannot represent a scale.
Result<Constant> to_linear(const Constant& packed, ThreadPool& pool);

}  // namespace anybit::lower
