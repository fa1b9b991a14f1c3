// Weights of a number format, as a file has them, made ready to be multiplied by without decoding them first.
#pragma once

#include "kernels/packed_codes.hpp"
#include "kernels/tensor_codec.hpp"

namespace anybit::kernels {

// A matrix of codes and what its groups share, checked; `transposed`: it has a row for each column of the
// product's right side; `rounded`: products may round their rows to int8.
struct PackedMatrix {
  const TensorCodec& codec;
  const std::uint8_t* codes;
  const TensorCodec::Parameters& parameters;
  bool transposed = false, rounded = false;
};

// Whether such a format can be multiplied by as it is, as far as it and the dimensions tell.
bool packs(const TensorCodec& codec, bool transposed);
// Null if it cannot.
std::unique_ptr<const FloatRight> packed_weights(const PackedMatrix& matrix, ThreadPool& pool);

}  // namespace anybit::kernels
