// The values of TensorProto's typed fields (float_data, int32_data, …) to and from the bytes raw_data would
// have.
#pragma once

#include <cstdint>
#include <string>

#include "anybit/result.hpp"
#include "graph/tensor.hpp"
#include "onnx/onnx.pb.h"

namespace anybit::onnx {

// How many values the field that `type` uses has; 0 for types without one.
int typed_count(const wire::Tensor& tensor, graph::ElementType type);
// Takes the values out of the message. An error if one does not fit the type. Not for strings.
Result<Bytes> take_typed(wire::Tensor& tensor, graph::ElementType type);

// The other way: value `index` of the field that int32_data, int64_data or uint64_data would hold, as the
// varint's bits. `bytes` are a tensor's data.
std::uint64_t varint_value(const Bytes& bytes, graph::ElementType type, std::size_t index);
// Bytes of data for each value of the field.
std::size_t typed_width(graph::ElementType type);

}  // namespace anybit::onnx
