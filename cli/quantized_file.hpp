// A quantized tensor as an .npz file: `codes` (packed bytes), one array per field that groups share, and
// `meta`, a JSON text with format, parameters and dimensions. docs/formats.md#files.
#pragma once

#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

struct QuantizedTensor {
  TensorFormat format;
  TensorFormatOptions options;  // the options of `format`
  std::vector<std::uint8_t> packed;
  GroupParameters shared;
};

// Bytes of packed values and shared fields, without the overhead of the file.
Result<std::int64_t> stored_bytes(const QuantizedTensor& tensor);
Result<void> write_quantized(const std::string& path, const QuantizedTensor& tensor);
Result<QuantizedTensor> read_quantized(const std::string& path, int threads);

}  // namespace anybit::cli
