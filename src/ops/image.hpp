// Pictures to pixels: JPEG, PNG, BMP and binary PNM, by stb_image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace anybit::ops {

struct ImageSize {
  std::int64_t height, width;
};

// Nothing if the bytes are no picture that can be decoded. A small file may claim to be a huge picture: look
// at this before memory is taken.
std::optional<ImageSize> image_size(std::span<const std::byte> file);
// Pixels row by row; `channels` is 3 (red, green, blue) or 1 (brightness). False if the file is broken.
bool decode_image(std::span<const std::byte> file, int channels, std::span<std::uint8_t> pixels);
// The name of a format that is known, but cannot be decoded here; empty if it is none of those.
std::string_view undecodable_image(std::span<const std::byte> file);

}  // namespace anybit::ops
