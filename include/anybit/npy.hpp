// NumPy's files: .npy holds an array, .npz several with names. Files are hostile until proven otherwise:
// sizes are checked before memory is taken, pickled objects are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

class MappedFile;

// Values in row-major order, little-endian. Copies share the bytes; those of a file stay on disk until they
// are used, where its order is ours.
struct Array {
  // float16, float32, float64, int8 … int64, uint8 … uint64, bool; or text: one string, in UTF-8.
  std::string type;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;       // of the bytes
  std::shared_ptr<const MappedFile> file;  // that they are mapped from; may be null

  ANYBIT_API static Result<Array> from_floats(std::vector<float> values,
                                              std::vector<std::int64_t> dims) noexcept;
  ANYBIT_API static Result<Array> from_bytes(std::string type, std::vector<std::byte> bytes,
                                             std::vector<std::int64_t> dims) noexcept;
  ANYBIT_API static Result<Array> from_text(std::string text) noexcept;

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  // The values as float32, rounded half to even where they have to be. Not for text.
  ANYBIT_API Result<std::vector<float>> to_floats() const noexcept;
  // An error if the file changed or could not be read while the bytes were in use.
  ANYBIT_API Result<void> intact() const noexcept;
};

ANYBIT_API Result<Array> read_npy(const std::string& path) noexcept;
// As numpy.savez and numpy.savez_compressed write them.
ANYBIT_API Result<std::map<std::string, Array>> read_npz(const std::string& path) noexcept;

// Files appear whole or not at all. The bytes must be as many as type and dims say.
ANYBIT_API Result<void> write_npy(const std::string& path, const Array& array) noexcept;
ANYBIT_API Result<void> write_npz(const std::string& path,
                                  const std::map<std::string, Array>& arrays) noexcept;

}  // namespace anybit
