// Quantization error of a tensor. The numbers do not depend on the number of threads.
#pragma once

#include "anybit/formats.hpp"
#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {

Losses losses(const TensorCodec& codec, std::span<const float> values,
              const TensorCodec::Parameters& parameters, std::span<const float> quantized, ThreadPool& pool);

}  // namespace anybit::kernels
