// A single tensor: a serialized TensorProto, as in the files of ONNX's test data.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/tensor.hpp"

namespace anybit::onnx {

Result<graph::Tensor> parse_tensor(const Bytes& bytes, const Limits& limits = {});

}  // namespace anybit::onnx
