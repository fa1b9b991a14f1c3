// A small JSON file that records the results of run_with_auto_compilation and their inputs. After a restart
// it decides whether existing files may be reused.
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
  std::string kernels;                    // that ranges were gathered with: "reproducible", or "of the CPU"
  std::string quantized, quantized_hash;  // path; hash of the quantized model's content
  std::string generator, generator_hash;  // name, empty if no code was generated; SHA-256 of the library
  std::int32_t preference = 0;
  std::string shapes;  // of inputs with unknown dimensions, as the code was generated for them
  std::string generated, generated_hash;  // path; SHA-256 of the file

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

Result<void> save_record(const DeviceRecord& record, const std::string& path);
// Empty if there is no record or it is unreadable: then everything is made again.
std::optional<DeviceRecord> load_record(const std::string& path);

// SHA-256 of a file, in hexadecimal digits.
Result<std::string> file_hash(const std::string& path);

}  // namespace anybit
