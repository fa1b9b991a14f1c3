// ImageDecoder: a JPEG, PNG, BMP or binary PNM file to pixels. ONNX: ImageDecoder-20. What is broken gives an
// empty image, as the operator's text wants it; formats that stb_image has not are an error.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

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

Result<Values> infer(const Call& call) {
  const std::int64_t channels = call.text("pixel_format", "RGB") == "Grayscale" ? 1 : 3;
  return outputs_of(call, tensor(ElementType::uint8, Shape{Dim(), Dim(), Dim(channels)}));
}

struct Signature {
  std::string_view name;
  std::size_t at;
  std::string_view bytes;
};

// Formats that the operator names and that cannot be decoded here.
constexpr std::array<Signature, 7> kOthers{{{"WebP", 8, "WEBP"},
                                            {"TIFF", 0, {"II*\0", 4}},
                                            {"TIFF", 0, {"MM\0*", 4}},
                                            {"JPEG 2000", 4, "jP  "},
                                            {"JPEG 2000", 0, "\xFF\x4F\xFF\x51"},
                                            {"plain PNM", 0, "P3"},
                                            {"plain PNM", 0, "P2"}}};

using Pixels = std::unique_ptr<stbi_uc, void (*)(void*)>;

// ITU-R 601-2 in 16 bits, as the operator's test cases have it.
std::uint8_t brightness(const stbi_uc* rgb) {
  return static_cast<std::uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

Result<void> run(Frame& frame) {
  const Array& file = frame.in(0);
  if (file.type() != ElementType::uint8) return wrong_type(frame, 0);
  const std::string_view format = frame.text("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    return wrong(fmt::format("pixel_format is '{}'", shown(format)), "RGB, BGR or Grayscale");
  const std::string_view bytes(file.data<char>(), static_cast<std::size_t>(file.count()));
  for (const Signature& other : kOthers) {
    if (bytes.size() > other.at && bytes.substr(other.at).starts_with(other.bytes)) {
      return error_at(Code::unsupported, {}, fmt::format("the image is {}", other.name),
                      "JPEG, PNG, BMP or binary PNM can be decoded");
    }
  }
  const int channels = format == "Grayscale" ? 1 : 3;
  const auto* data = file.data<stbi_uc>();
  const int size = static_cast<int>(std::min<std::int64_t>(file.count(), std::numeric_limits<int>::max()));
  int width = 0, height = 0, stored = 0;
  if (size == 0 || !stbi_info_from_memory(data, size, &width, &height, &stored)) width = height = 0;
  // Asked for before it is decoded: a small file may claim to be a huge image.
  Array* out = TRY(frame.out(0, ElementType::uint8, {height, width, channels}));
  if (out->count() == 0) return {};
  const bool mix = channels == 1 && stored >= 3;  // the colours, whatever the file calls its brightness
  const Pixels pixels(stbi_load_from_memory(data, size, &width, &height, &stored, mix ? 3 : channels),
                      stbi_image_free);
  if (!pixels || !(out->dims() == Dims{height, width, channels})) {
    TRY(frame.out(0, ElementType::uint8, {0, 0, channels}));
    return {};
  }
  std::uint8_t* to = out->mutable_data<std::uint8_t>();
  if (mix) {
    for (std::int64_t i = 0; i < out->count(); ++i) to[i] = brightness(pixels.get() + 3 * i);
    return {};
  }
  std::memcpy(to, pixels.get(), out->byte_count());
  if (format == "BGR") {
    for (std::int64_t i = 0; i < out->count(); i += 3) std::swap(to[i], to[i + 2]);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> image_decoder_descriptors() {
  static const Descriptor all[] = {
      {.name = "ImageDecoder", .domain = "", .since = {20}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
