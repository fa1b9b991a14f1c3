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
Result<kernels::TensorCodec> codec_for(const formats::Use& use, std::span<const std::int64_t> dims);

}  // namespace anybit::ops
