// Image files to pixels of 8 bits. Files come from strangers: what they claim is checked against `Limits` and
// against the number of their bytes before memory is taken, and a file that is cut off or damaged is an
// error, never an image with pixels that were not in it.
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
// Pixels row by row; `channels` is 3 (red, green, blue) or 1 (brightness). Of a file whose size is known:
// there are height × width × channels pixels.
Result<void> decode(File file, int channels, std::span<std::uint8_t> pixels, const Limits& limits = {});

// Whether a file's name ends as those of images do.
bool has_image_ending(const std::string& path);
// "BMP, JPEG, … or WebP".
std::string known_formats();
// "libpng 1.6.39, …", for those who report a fault.
std::string libraries();

}  // namespace anybit::images
