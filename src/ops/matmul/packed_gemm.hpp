// Shared by GEMM operators whose weight stays packed. Inputs: the matrix, an addend (optional), then the
// inputs of Decode. Attributes: those of Decode and of Gemm.
#pragma once

#include "ops/matmul/batched_gemm.hpp"
#include "ops/op.hpp"
#include "ops/quantized/packed_tensor.hpp"

namespace anybit::ops {

Result<Values> infer_packed_gemm(const Call& call);
Dim macs_of_packed_gemm(const Call& call, std::span<const Value> outputs);

// A weight that the GEMM reads in its packed form.
struct PackedRight : Prepared {
  std::unique_ptr<const kernels::FloatRhs> matrix;
  Dims dims;  // two, of the weight as stored in the file
  std::int64_t bytes() const override { return matrix->bytes(); }
};
// The inputs of Decode; empty unless all of them are constants.
std::span<const Array* const> constant_codes(const Setup& setup);
std::vector<const Array*> codes_in(const Frame& frame);
Result<kernels::Spread<float>> packed_addend(const Frame& frame, const BatchedMatMul& matmul);

// The prepared weight, or a temporary one for this run.
template <class Weight>
Result<std::shared_ptr<const Weight>> stored_weight(
    const Frame& frame,
    Result<std::shared_ptr<const Weight>> (*make)(const Attributes&, std::span<const Array* const>)) {
  if (const auto* prepared = frame.prepared<Weight>())
    return std::shared_ptr<const Weight>(std::shared_ptr<const Weight>(), prepared);
  return make(frame, codes_in(frame));
}

// Descriptor::prepare of an operator whose weight `make` builds; null unless the packed data is constant.
template <class Weight,
          Result<std::shared_ptr<const Weight>> (*make)(const Attributes&, std::span<const Array* const>)>
Result<std::shared_ptr<const Prepared>> prepare_packed(const Setup& setup) {
  const auto stored = constant_codes(setup);
  if (stored.empty()) return std::shared_ptr<const Prepared>();
  return std::shared_ptr<const Prepared>(TRY(make(setup, stored)));
}

// Output 0 = input 0 · weight + addend.
Result<void> multiply(Frame& frame, const PackedRight& weight);
// Descriptor::run of an operator whose weight `make` builds.
template <Result<std::shared_ptr<const PackedRight>> (*make)(const Attributes&,
                                                             std::span<const Array* const>)>
Result<void> multiply_packed(Frame& frame) {
  const auto weight = TRY(stored_weight<PackedRight>(frame, make));
  return multiply(frame, *weight);
}

// Whether a format is binary (±1) with rounding to nearest and one scale per tensor.
bool binary_tensor(const kernels::TensorCodec& codec);
// Whether the codec holds a non-empty binary (±1) matrix with one scale per column or per group of columns.
bool binary_columns(const kernels::TensorCodec& codec, bool transposed);

// The unpacked codes of such a weight, and one scale per column.
struct BinaryColumns {
  std::vector<formats::Code16> codes;
  std::vector<float> scales;
  bool negative(std::int64_t i) const { return (codes[static_cast<std::size_t>(i)] & 1) == 0; }
  static BinaryColumns of(const StoredWeight& weight, bool transposed);
};
// The scale of a binary input: the mean of its magnitudes if the attribute `scaled` is set, else 1.
float binary_scale(const Frame& frame, const Array& a);

}  // namespace anybit::ops
