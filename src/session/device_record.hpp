// What run_with_auto_compilation made of a model, and from what: a small JSON file. After a restart it tells
// whether files that are there may be used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/result.hpp"

namespace anybit {

struct DeviceRecord {
  std::string version;  // of anybit
  std::string model;    // hash of the float model's content
  std::string recipe;
  std::string kernels;                    // that ranges were gathered by: "reproducible", or "of the CPU"
  std::string quantized, quantized_hash;  // path; hash of the quantized model's content
  std::string generator, generator_hash;  // name, empty if no code was generated; SHA-256 of its library
  std::int32_t preference = 0;
  std::string shapes;                     // of inputs that the model leaves open, as the code takes them
  std::string generated, generated_hash;  // path; SHA-256 of the file

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

Result<void> save_record(const DeviceRecord& record, const std::string& path);
// Nothing if there is none, or one that cannot be read: then everything is made again.
std::optional<DeviceRecord> load_record(const std::string& path);

// SHA-256 of a file, in hexadecimal digits.
Result<std::string> file_hash(const std::string& path);

}  // namespace anybit
