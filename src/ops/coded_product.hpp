// What products by weights that stay packed share: inputs are the matrix, an addend (may be left out), then
// those of Decode; attributes those of Decode and of Gemm.
#pragma once

#include "ops/coded.hpp"
#include "ops/op.hpp"
#include "ops/product.hpp"

namespace anybit::ops {

Result<Values> infer_coded_product(const Call& call);
Dim macs_of_coded_product(const Call& call, std::span<const Value> outputs);

// A weight that is multiplied by as it lies packed.
struct PackedRight : Prepared {
  std::unique_ptr<const kernels::FloatRight> matrix;
  Dims dims;  // two, of the weight as the file has it
  std::int64_t bytes() const override { return matrix->bytes(); }
};
// The inputs of Decode; none if one of them is no constant.
std::span<const Array* const> constant_codes(const Setup& setup);
std::vector<const Array*> codes_in(const Frame& frame);
Result<kernels::Spread<float>> coded_addend(const Frame& frame, const Products& products);

// The prepared weight, or one for this run alone.
template <class Weight>
Result<std::shared_ptr<const Weight>> coded_weight(
    const Frame& frame,
    Result<std::shared_ptr<const Weight>> (*make)(const Attributes&, std::span<const Array* const>)) {
  if (const auto* prepared = frame.prepared<Weight>())
    return std::shared_ptr<const Weight>(std::shared_ptr<const Weight>(), prepared);
  return make(frame, codes_in(frame));
}

// Descriptor::prepare of an operator whose weight `make` makes; null if the codes are no constants.
template <class Weight,
          Result<std::shared_ptr<const Weight>> (*make)(const Attributes&, std::span<const Array* const>)>
Result<std::shared_ptr<const Prepared>> prepare_coded(const Setup& setup) {
  const auto stored = constant_codes(setup);
  if (stored.empty()) return std::shared_ptr<const Prepared>();
  return std::shared_ptr<const Prepared>(TRY(make(setup, stored)));
}

// Output 0 is input 0 times the weight, with the addend.
Result<void> multiply(Frame& frame, const PackedRight& weight);
// Descriptor::run of an operator whose weight `make` makes.
template <Result<std::shared_ptr<const PackedRight>> (*make)(const Attributes&,
                                                             std::span<const Array* const>)>
Result<void> multiply_coded(Frame& frame) {
  const auto weight = TRY(coded_weight<PackedRight>(frame, make));
  return multiply(frame, *weight);
}

// Whether a format is ±1, to the nearest, under one scale.
bool binary_tensor(const kernels::TensorCodec& codec);
// Whether it makes a matrix, not empty, of ±1 with a scale for each of its columns, or for several of them.
bool binary_columns(const kernels::TensorCodec& codec, bool transposed);

// The codes of such a weight, one by one, and the scales of its columns.
struct BinaryColumns {
  std::vector<formats::Code16> codes;
  std::vector<float> scales;
  bool negative(std::int64_t i) const { return (codes[static_cast<std::size_t>(i)] & 1) == 0; }
  static BinaryColumns of(const CodedWeight& weight, bool transposed);
};
// The scale of a binary input: the mean of its magnitudes if the attribute `scaled` tells so, else 1.
float binary_scale(const Frame& frame, const Array& a);

}  // namespace anybit::ops
