#include "api/sample_image.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "api/image_layout.hpp"
#include "api/image_size.hpp"
#include "api/pixel_scaling.hpp"
#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/try.hpp"
#include "images/image.hpp"

namespace anybit {
namespace {

// The layout of an input that takes an image, with the number of its channels.
Result<ImageLayout> layout_for_image(const Port& port, const SampleOptions& options) {
  ImageLayout layout = TRY(image_layout_of(port, options.layout));
  if (layout.channels == 0) layout.channels = 3;
  if (layout.channels == 1 || layout.channels == 3) return layout;
  return invalid_argument(fmt::format("{} channels: an image has 1 or 3", layout.channels),
                          fmt::format("the model takes {}; is another --layout meant?", port.type));
}

Result<DecodedImage> decode(const std::string& path, std::int64_t channels) {
  const auto file = TRY(MappedFile::open(path));
  const auto bytes = file->bytes().span();
  auto decoded = [&]() -> Result<DecodedImage> {
    const images::Size size = TRY(images::size_of(bytes));
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(size.height * size.width * channels));
    TRY(images::decode(bytes, static_cast<int>(channels), pixels));
    return DecodedImage{size.height, size.width, channels, {pixels.begin(), pixels.end()}};
  }();
  TRY(file->intact());
  if (!decoded.ok()) return std::move(decoded).error().within(path);
  return decoded;
}

Result<void> reverse_channels(DecodedImage& image, const std::string& order) {
  std::string letters = order;
  for (char& c : letters) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (letters.empty() || letters == "RGB") return {};
  if (letters != "BGR")
    return invalid_argument(fmt::format("channels '{}' are not known", shown(order)), "RGB or BGR");
  if (image.channels != 3) return {};
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) std::swap(image.pixels[i], image.pixels[i + 2]);
  return {};
}

// The values of all pixels in the layout of the input.
template <class T, class Convert>
std::vector<T> arranged(const DecodedImage& image, const ImageLayout& layout, Convert convert) {
  const std::int64_t area = image.height * image.width, channels = image.channels;
  std::vector<T> values(image.pixels.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < area; ++i) {
      const std::int64_t to = layout.channels_first() ? c * area + i : i * channels + c;
      values[static_cast<std::size_t>(to)] =
          convert(image.pixels[static_cast<std::size_t>(i * channels + c)], c);
    }
  }
  return values;
}

std::byte nearest_byte(float pixel) {
  return static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(std::nearbyint(pixel), 0.0F, 255.0F)));
}

Result<Value> as_input(const DecodedImage& image, const ImageLayout& layout, const Port& port,
                       std::vector<std::int64_t> dims, const SampleOptions& options) {
  if (port.element_type != "uint8") {
    const PixelScaling scaling = TRY(PixelScaling::make(options, image.channels));
    return Value(TRY(Array::from_floats(arranged<float>(image, layout, scaling), std::move(dims))));
  }
  if (scales_pixels(options))
    return invalid_argument("mean, std and scale do not apply to an input of bytes");
  auto bytes =
      arranged<std::byte>(image, layout, [](float pixel, std::int64_t) { return nearest_byte(pixel); });
  return Value(TRY(Array::from_bytes("uint8", std::move(bytes), std::move(dims))));
}

}  // namespace

Result<Value> read_image(const std::string& path, const Port& port, const SampleOptions& options) {
  const ImageLayout layout = TRY(layout_for_image(port, options));
  const Resizing resizing = TRY(resizing_of(options.resize));
  DecodedImage image = TRY(decode(path, layout.channels));
  const std::int64_t height = options.size.empty() ? layout.height : options.size[0];
  const std::int64_t width = options.size.empty() ? layout.width : options.size.back();
  image = TRY(with_size(std::move(image), resizing, height, width));
  TRY(reverse_channels(image, options.channels));
  std::vector<std::int64_t> dims(layout.rank, 1);
  dims[layout.channel_axis] = image.channels;
  dims[layout.height_axis] = image.height;
  dims[layout.height_axis + 1] = image.width;
  return as_input(image, layout, port, std::move(dims), options);
}

}  // namespace anybit
