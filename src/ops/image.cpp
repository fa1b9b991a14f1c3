#include "ops/image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_FAILURE_STRINGS
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_PNM
#include <stb/stb_image.h>

namespace anybit::ops {
namespace {

struct Signature {
  std::string_view name;
  std::size_t at;
  std::string_view bytes;
};

// Formats that ImageDecoder names and that cannot be decoded here.
constexpr std::array<Signature, 7> kOthers{{{"WebP", 8, "WEBP"},
                                            {"TIFF", 0, {"II*\0", 4}},
                                            {"TIFF", 0, {"MM\0*", 4}},
                                            {"JPEG 2000", 4, "jP  "},
                                            {"JPEG 2000", 0, "\xFF\x4F\xFF\x51"},
                                            {"plain PNM", 0, "P3"},
                                            {"plain PNM", 0, "P2"}}};

struct Encoded {
  const stbi_uc* data;
  int size;
};

Encoded encoded(std::span<const std::byte> file) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  return {reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(std::min(file.size(), kMost))};
}

using Pixels = std::unique_ptr<stbi_uc, void (*)(void*)>;

// ITU-R 601-2 in 16 bits, as ImageDecoder's test cases have it.
std::uint8_t brightness(const stbi_uc* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

}  // namespace

std::string_view undecodable_image(std::span<const std::byte> file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
  for (const Signature& other : kOthers) {
    if (bytes.size() > other.at && bytes.substr(other.at).starts_with(other.bytes)) return other.name;
  }
  return {};
}

std::optional<ImageSize> image_size(std::span<const std::byte> file) {
  const Encoded from = encoded(file);
  int width = 0, height = 0, stored = 0;
  if (from.size == 0 || !stbi_info_from_memory(from.data, from.size, &width, &height, &stored))
    return std::nullopt;
  return ImageSize{height, width};
}

bool decode_image(std::span<const std::byte> file, int channels, std::span<std::uint8_t> pixels) {
  const Encoded from = encoded(file);
  int width = 0, height = 0, stored = 0;
  if (from.size == 0 || !stbi_info_from_memory(from.data, from.size, &width, &height, &stored)) return false;
  const bool mix = channels == 1 && stored >= 3;  // the colours, whatever the file calls its brightness
  const Pixels decoded(
      stbi_load_from_memory(from.data, from.size, &width, &height, &stored, mix ? 3 : channels),
      stbi_image_free);
  const std::size_t count =
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels);
  if (!decoded || count != pixels.size()) return false;
  if (mix) {
    for (std::size_t i = 0; i < count; ++i) pixels[i] = brightness(decoded.get() + 3 * i);
  } else {
    std::memcpy(pixels.data(), decoded.get(), count);
  }
  return true;
}

}  // namespace anybit::ops
