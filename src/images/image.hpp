// Decodes image files to 8-bit pixels. Files are untrusted: a header is checked against `Limits` and the size
// of the file before memory is allocated, and a truncated or damaged file is an error, never an image with
// invented pixels.
#pragma once

#include <cstdint>
#include <string>

#include "anybit/limits.hpp"
#include "images/table.hpp"

namespace anybit::images {

struct Size {
  std::int64_t height = 0, width = 0;
};

Result<Size> size_of(File file, const Limits& limits = {});
// Pixels row by row; `channels` is 3 (RGB) or 1 (luma). `pixels` has height × width × channels elements, by
// size_of().
Result<void> decode(File file, int channels, std::span<std::uint8_t> pixels, const Limits& limits = {});

// Whether the file name has the extension of a known image format.
bool has_image_ending(const std::string& path);
// "BMP, JPEG, … or WebP".
std::string known_formats();
// "libpng 1.6.39, …", for bug reports.
std::string libraries();

}  // namespace anybit::images
