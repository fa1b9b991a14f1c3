// Tensors in number formats that ONNX has no type for: what the operators of ai.anybit share.
#pragma once

#include "formats/use.hpp"
#include "kernels/tensor_codec.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

inline constexpr std::string_view kAnybit = "ai.anybit";

// The attribute `format` of a node, read once.
struct CodedUse : Prepared {
  formats::Use use;
};
Result<std::shared_ptr<const Prepared>> prepare_use(const Setup& setup);
// On a tensor of these dimensions. Constants are computed before nodes are prepared: then it is read here.
Result<kernels::TensorCodec> codec_for(const Frame& frame, std::span<const std::int64_t> dims);

}  // namespace anybit::ops
