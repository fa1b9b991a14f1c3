// ZIP archives as .npz files are: entries stored as they are or by Deflate, with ZIP64 sizes where they need
// them (PKWARE's APPNOTE 6.3). They are written as they are.
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
  Bytes data;  // within the archive, unless it is compressed there
};
// All entries, their checksums verified. What compressed ones become is bounded by the size of the archive.
Result<std::vector<ZipEntry>> read_zip(const Bytes& archive);

// Writes entries one after the other, each given as parts whose bytes follow each other.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}
  Result<void> add(const std::string& name, std::span<const Bytes> parts);
  // The directory at the end.
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
