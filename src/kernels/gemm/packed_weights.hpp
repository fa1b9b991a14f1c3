// Packs the stored weights of a number format for GEMM without decoding them.
#pragma once

#include "kernels/codec/tensor_codec.hpp"
#include "kernels/gemm/gemm_packed.hpp"

namespace anybit::kernels {

// Elements from which on a packed weight pays off: 4 MB in float32, more than caches hold.
inline constexpr std::int64_t kLargeWeight = std::int64_t{1} << 20;

// A checked matrix of codes and group parameters. `transposed`: it has one row for each column of B.
// `rounded`: the GEMM may quantize A's rows to int8 (dynamic int8 GEMM).
struct PackedMatrix {
  const TensorCodec& codec;
  const std::uint8_t* codes;
  const TensorCodec::Parameters& parameters;
  bool transposed = false, rounded = false;
};

// Whether a format can be used by GEMM without decoding, judged by the format and the dimensions only.
bool packs(const TensorCodec& codec, bool transposed);
// Null if it cannot.
std::unique_ptr<const FloatRhs> packed_weights(const PackedMatrix& matrix, ThreadPool& pool);

}  // namespace anybit::kernels
