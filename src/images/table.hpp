// The image formats that can be decoded, one file each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "anybit/result.hpp"

namespace anybit::images {

// The bytes of a complete file.
using File = std::span<const std::byte>;

struct Header {
  std::int64_t height = 0, width = 0;
  // The largest number of pixels that a file of this size can hold; a header that claims more is rejected.
  std::int64_t most_pixels = 0;
};

// Errors: a damaged file is `malformed`, an unsupported variant is `unsupported`.
struct Descriptor {
  std::string_view name;
  std::span<const std::string_view> endings;  // file extensions, in lower case
  bool (*matches)(File file) = nullptr;       // by the first bytes
  Result<Header> (*read_header)(File file) = nullptr;
  // Writes red, green and blue of every pixel, row by row from the top, or fails. `header`: the checked
  // result of read_header.
  Result<void> (*decode)(File file, const Header& header, std::uint8_t* rgb) = nullptr;
  std::string_view library = {};  // with its version; empty: anybit's own code
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::images
