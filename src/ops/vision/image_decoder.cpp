// ImageDecoder: decodes an image file to pixels. ONNX: ImageDecoder-20. A broken file gives an empty image,
// as the specification demands; unsupported file formats and too large images are errors.
#include <utility>

#include "images/image.hpp"
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const std::int64_t channels = call.text("pixel_format", "RGB") == "Grayscale" ? 1 : 3;
  return outputs_of(call, tensor(ElementType::uint8, Shape{Dim(), Dim(), Dim(channels)}));
}

Result<void> run(Frame& frame) {
  const Array& file = frame.in(0);
  if (file.type() != ElementType::uint8) return wrong_type(frame, 0);
  const std::string_view format = frame.text("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale")
    return wrong(fmt::format("pixel_format is '{}'", shown(format)), "RGB, BGR or Grayscale");
  if (only_checks(frame)) return {};
  const images::File bytes(file.bytes(), file.byte_count());
  const int channels = format == "Grayscale" ? 1 : 3;
  const auto empty = [&](Error error) -> Result<void> {
    if (error.code != Code::malformed) return error;
    TRY(frame.out(0, ElementType::uint8, {0, 0, channels}));
    return {};
  };
  const auto size = images::size_of(bytes);
  if (!size.ok()) return empty(size.error());
  Array* out = TRY(frame.out(0, ElementType::uint8, {size->height, size->width, channels}));
  const auto decoded = images::decode(bytes, channels, out->elements<std::uint8_t>());
  if (!decoded.ok()) return empty(decoded.error());
  std::uint8_t* to = out->mutable_data<std::uint8_t>();
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
