/// @file
/// NumPy files: .npy holds one array, .npz several named ones. Files are untrusted: sizes are checked before
/// memory is allocated, and pickled objects are rejected.
///
/// @code{.cpp}
/// auto images = anybit::read_npy("images.npy");
/// if (!images) return;
/// auto values = images->to_floats();
/// if (!values) return;
/// auto written = anybit::write_npz("copy.npz", {{"images", *images}});
/// @endcode
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

/// A row-major, little-endian array. Copies share the data. Data of an uncompressed file in this layout is
/// memory-mapped.
struct Array {
  /// float16, float32, float64, int8 … int64, uint8 … uint64, bool; or "text": one UTF-8 string.
  std::string type;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;        ///< the elements
  std::shared_ptr<const void> owner;       ///< keeps the bytes alive
  std::shared_ptr<const MappedFile> file;  ///< the memory-mapped file, or null

  /// Makes an array that owns its data. An error if the number of values or bytes does not match type and
  /// dims.
  ANYBIT_API static Result<Array> from_floats(std::vector<float> values,
                                              std::vector<std::int64_t> dims) noexcept;
  ANYBIT_API static Result<Array> from_bytes(std::string type, std::vector<std::byte> bytes,
                                             std::vector<std::int64_t> dims) noexcept;
  ANYBIT_API static Result<Array> from_text(std::string text) noexcept;

  /// Returns the text of an array of type "text". Valid as long as `owner`.
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  /// Returns the elements converted to float32, rounded half to even. An error for text.
  ANYBIT_API Result<std::vector<float>> to_floats() const noexcept;
  /// Returns an error (Code::data_lost) if the mapped file changed or could not be read while it was in use.
  ANYBIT_API Result<void> intact() const noexcept;
};

/// Reads a .npy file.
ANYBIT_API Result<Array> read_npy(const std::string& path) noexcept;
/// Reads a .npz file, as numpy.savez and numpy.savez_compressed write it. Returns the arrays by name.
ANYBIT_API Result<std::map<std::string, Array>> read_npz(const std::string& path) noexcept;

/// Writes a .npy file, atomically. An error if the number of bytes does not match type and dims.
ANYBIT_API Result<void> write_npy(const std::string& path, const Array& array) noexcept;
/// Writes a .npz file, atomically.
ANYBIT_API Result<void> write_npz(const std::string& path,
                                  const std::map<std::string, Array>& arrays) noexcept;

}  // namespace anybit
