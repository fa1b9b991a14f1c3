// Converts TensorProto's typed fields (float_data, int32_data, …) to and from the bytes of raw_data.
#pragma once

#include <cstdint>
#include <string>

#include "anybit/result.hpp"
#include "graph/tensor.hpp"
#include "io/onnx/onnx.pb.h"

namespace anybit::onnx {

// The number of values in the field for `type`; 0 for types without one.
int typed_count(const wire::Tensor& tensor, graph::ElementType type);
// Takes the values out of the message. An error if one does not fit the type. Not for strings.
Result<Bytes> take_typed(wire::Tensor& tensor, graph::ElementType type);

// The inverse: element `index` of int32_data, int64_data or uint64_data as the bits of a varint. `bytes`: the
// tensor's data.
std::uint64_t varint_value(const Bytes& bytes, graph::ElementType type, std::size_t index);
// Bytes of data per value of the field.
std::size_t typed_width(graph::ElementType type);

}  // namespace anybit::onnx
