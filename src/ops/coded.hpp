// Tensors in number formats that ONNX has no type for: what the operators of ai.anybit share.
#pragma once

#include "formats/use.hpp"
#include "graph/node.hpp"
#include "kernels/tensor_codec.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

using graph::kAnybit;

// The attribute `format` of a node, read once.
struct CodedUse : Prepared {
  formats::Use use;
};
Result<std::shared_ptr<const Prepared>> prepare_use(const Setup& setup);
Result<kernels::TensorCodec> codec_for(const formats::Use& use, std::span<const std::int64_t> dims);
// The same for the attribute `format`. Constants are computed before nodes are prepared: then it is read
// here.
Result<kernels::TensorCodec> codec_for(const Attributes& node, const CodedUse* prepared,
                                       std::span<const std::int64_t> dims);

// Output 0 has the values of input 0 as the format gives them, after it has chosen what groups share.
Result<void> quantize_dequantize(Frame& frame, const formats::Use& use);

// A tensor as Decode has it: its attributes, its packed codes, and the fields that groups share, checked.
struct CodedWeight {
  kernels::TensorCodec codec;
  std::vector<std::int64_t> dims;  // those that it gets
  const std::uint8_t* codes = nullptr;
  kernels::TensorCodec::Parameters parameters;

  // What the attributes alone tell: `coded`, and `dims`, which have as many values.
  static Result<kernels::TensorCodec> codec_of(const Attributes& node, const CodedUse* prepared);
  // `stored`: the codes, then the fields in the order of the format; null if one is left out.
  static Result<CodedWeight> of(const Attributes& node, const CodedUse* prepared,
                                std::span<const Array* const> stored);
};

}  // namespace anybit::ops
