// WebP by libwebp (RFC 9649): lossy and lossless; alpha is dropped, animations are rejected.
#include <webp/decode.h>

#include "images/checks.hpp"

namespace anybit::images {
namespace {

constexpr std::string_view kEndings[] = {".webp"};
// A few bytes can hold an image of one colour, so small images are allowed regardless of the file size.
constexpr std::int64_t kFreePixels = std::int64_t{1} << 22, kMostPixelsPerByte = 4096;

Error error_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return error_at(Code::out_of_memory, {}, "libwebp has no memory");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return damaged("the file is cut off");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return unsupported("it has a feature that libwebp does not know");
    default:
      return damaged("the file is damaged");
  }
}

bool matches(File file) { return starts_with(file, "RIFF") && starts_with(file, "WEBP", 8); }

Result<Header> read_header(File file) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes_of(file), file.size(), &features);
  if (status != VP8_STATUS_OK) return error_of(status);
  if (features.has_animation != 0) return unsupported("animations are not read", "a single image");
  return Header{features.height, features.width, kFreePixels + pixels_in(file, kMostPixelsPerByte)};
}

Result<void> decode(File file, const Header& header, std::uint8_t* rgb) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return unsupported("libwebp has another version");
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgb;
  config.output.u.RGBA.stride = static_cast<int>(3 * header.width);
  config.output.u.RGBA.size = static_cast<std::size_t>(3 * header.width * header.height);
  const VP8StatusCode status = WebPDecode(bytes_of(file), file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return error_of(status);
  return {};
}

std::string_view library() {
  static const std::string text = [] {
    const int version = WebPGetDecoderVersion();
    return fmt::format("libwebp {}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
  }();
  return text;
}

}  // namespace

std::span<const Descriptor> webp_descriptors() {
  static const Descriptor all[] = {{.name = "WebP",
                                    .endings = kEndings,
                                    .matches = matches,
                                    .read_header = read_header,
                                    .decode = decode,
                                    .library = library()}};
  return all;
}

}  // namespace anybit::images
