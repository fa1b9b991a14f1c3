// Data of constants: sparse to dense, float16 to float32, other orders of the dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "tflite/file.hpp"
#include "tflite/tensor_info.hpp"

namespace anybit::tflite {

// The elements in row-major order, also of a sparse tensor. Shares the file's bytes where they are in that
// form.
Result<Bytes> dense_data(File& file, const TensorInfo& info);

// The elements of a constant of int32, int64 or a narrower integer.
Result<std::vector<std::int64_t>> integers_of(File& file, const TensorInfo& info);

Result<Bytes> float32_of_float16(File& file, const Bytes& halves);

// Dimension i of the result is dimension order[i] of the data.
Result<Bytes> permuted(File& file, const Bytes& data, graph::ElementType type,
                       std::span<const std::int64_t> dims, std::span<const std::int64_t> order);

}  // namespace anybit::tflite
