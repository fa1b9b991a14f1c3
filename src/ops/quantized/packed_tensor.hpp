// Tensors packed in number formats without an ONNX element type: shared by the operators of ai.anybit.
#pragma once

#include "formats/use.hpp"
#include "graph/node.hpp"
#include "kernels/codec/tensor_codec.hpp"
#include "ops/frame.hpp"
#include "ops/lru_cache.hpp"

namespace anybit::ops {

using graph::kAnybit;

// The codecs of a node for the shapes that it has seen: to make one takes longer than to round a small
// tensor.
using CodecCache = LruCache<Dims, kernels::TensorCodec>;

// The parsed attribute `format` of a node.
struct FormatUse : Prepared {
  formats::Use use;
  CodecCache codecs;
};
Result<std::shared_ptr<const Prepared>> prepare_use(const Setup& setup);
Result<kernels::TensorCodec> codec_for(const formats::Use& use, std::span<const std::int64_t> dims);
// The same for the attribute `format`. Constant folding runs before nodes are prepared: then it is parsed
// here.
Result<kernels::TensorCodec> codec_for(const Attributes& node, const FormatUse* prepared,
                                       std::span<const std::int64_t> dims);

// Fake quantization: output 0 is input 0 rounded to the format, with scales and other group parameters chosen
// from it. `dims`: those in which it is divided into groups; by default its own.
Result<void> quantize_dequantize(Frame& frame, const FormatUse& format);
Result<void> quantize_dequantize(Frame& frame, const FormatUse& format, const Dims& dims);

// The packed tensor of a Decode node, checked: its attributes, packed elements and group parameters.
struct StoredWeight {
  kernels::TensorCodec codec;
  std::vector<std::int64_t> dims;  // after decoding
  const std::uint8_t* codes = nullptr;
  kernels::TensorCodec::Parameters parameters;

  // From the attributes alone: the codec of the packed shape `coded`. `dims` must have the same number of
  // values.
  static Result<kernels::TensorCodec> codec_of(const Attributes& node, const FormatUse* prepared);
  // `stored`: the packed elements, then the fields in the order of the format; null if one is left out.
  static Result<StoredWeight> of(const Attributes& node, const FormatUse* prepared,
                                 std::span<const Array* const> stored);
};

}  // namespace anybit::ops
