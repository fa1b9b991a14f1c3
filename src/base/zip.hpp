// ZIP archives in the form of .npz files: entries stored or deflated, with ZIP64 sizes where needed (PKWARE's
// APPNOTE 6.3). Written entries are always stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/bytes.hpp"

namespace anybit {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

struct ZipEntry {
  std::string name;
  Bytes data;  // a part of the archive, unless it is compressed there
};
// All entries, with verified checksums. The inflated size is bounded by the size of the archive.
Result<std::vector<ZipEntry>> read_zip(const Bytes& archive);

// Writes entries one after another, each given as consecutive parts.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  Result<void> add(const std::string& name, std::span<const Bytes> parts);
  // Writes the central directory.
  Result<void> finish();

 private:
  struct Written {
    std::string name;
    std::uint64_t size, offset;
    std::uint32_t checksum;
  };
  AtomicFile& file_;
  std::vector<Written> entries_;
};

}  // namespace anybit
