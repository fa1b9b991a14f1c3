// A tensor in a number format as an .npz file: `codes` (packed bytes), an array for each field that groups
// share, and `meta`, a JSON text that tells format, parameters and dimensions. docs/formats.md#files.
#pragma once

#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

struct QuantizedTensor {
  TensorFormat format;
  TensorFormatOptions options;  // that the format was made with
  std::vector<std::uint8_t> packed;
  GroupParameters shared;
};

// Bytes of codes and shared fields, without the file's own overhead.
Result<std::int64_t> stored_bytes(const QuantizedTensor& tensor);
Result<void> write_quantized(const std::string& path, const QuantizedTensor& tensor);
Result<QuantizedTensor> read_quantized(const std::string& path, int threads);

}  // namespace anybit::cli
