// The image formats that can be decoded, one file each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "anybit/result.hpp"

namespace anybit::images {

// The bytes of a whole file.
using File = std::span<const std::byte>;

struct Header {
  std::int64_t height = 0, width = 0;
  // More pixels than the bytes of the file can hold, whatever they are. A header that claims more is a lie.
  std::int64_t most_pixels = 0;
};

// A file that is damaged is `malformed`, a kind of file that is not read here is `unsupported`.
struct Descriptor {
  std::string_view name;
  std::span<const std::string_view> endings;  // of file names, in lower case
  bool (*matches)(File file) = nullptr;       // by its first bytes
  Result<Header> (*read_header)(File file) = nullptr;
  // Red, green and blue of every pixel, row by row from the top. Called with what read_header said, once that
  // was found to be possible. Writes every byte, or fails.
  Result<void> (*decode)(File file, const Header& header, std::uint8_t* rgb) = nullptr;
  std::string_view library = {};  // and its version; empty: our own
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::images
