// Writes a file that appears whole or not at all: a temporary file in the same folder, fsync, rename, fsync of the
// folder. Destroying it before commit() removes the temporary file and leaves the old one as it was.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "anybit/result.hpp"
#include "base/bytes.hpp"

namespace anybit {

class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Result<void> pad_to(std::uint64_t multiple);  // zeros up to the next multiple
  std::uint64_t position() const { return position_; }
  // Flushes to disk; the file is complete but still under its temporary name.
  Result<void> finish();
  // finish() if need be, then rename into place and fsync of the folder.
  Result<void> commit();

 private:
  AtomicFile() = default;
  void discard();
  std::string path_, temporary_;
  int descriptor_ = -1;
  std::uint64_t position_ = 0;
  bool finished_ = false;
};

}  // namespace anybit
