#include "api/worst_samples.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace anybit {
namespace {

using graph::ElementType;
using ops::Array;
using ops::Datum;

constexpr std::size_t kKept = 8;               // samples
constexpr std::int64_t kLongest = 64;          // pixels of a thumbnail's longer side
constexpr std::int64_t kSmallest = 8;          // shorter sides are no images
constexpr std::int64_t kMostPixels = 1 << 26;  // larger images get no thumbnail

// An image in memory, with the distance of neighbours along each axis.
struct Image {
  const Array* array;
  std::int64_t height, width, channels;
  std::int64_t row, column, channel;

  double at(std::int64_t y, std::int64_t x, std::int64_t c) const {
    const auto place = static_cast<std::size_t>(y * row + x * column + c * channel);
    return array->type() == ElementType::uint8 ? array->elements<std::uint8_t>()[place]
                                               : static_cast<double>(array->elements<float>()[place]);
  }
};

bool plausible(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return (channels == 1 || channels == 3) && std::min(height, width) >= kSmallest &&
         height <= kMostPixels / width;
}

std::optional<Image> image_of(const Datum& datum) {
  if (!datum.is_array()) return std::nullopt;
  const Array& array = datum.array;
  const bool readable = array.type() == ElementType::float32 || array.type() == ElementType::uint8;
  if (!readable || array.layout() != ops::Layout::plain || array.rank() != 4 || array.dim(0) != 1)
    return std::nullopt;
  const std::int64_t a = array.dim(1), b = array.dim(2), c = array.dim(3);
  if (plausible(b, c, a)) return Image{&array, b, c, a, c, 1, b * c};
  if (plausible(a, b, c)) return Image{&array, a, b, c, b * c, c, 1};
  return std::nullopt;
}

// The mean of the pixels that one pixel of the thumbnail stands for.
double mean_of(const Image& image, const Thumbnail& thumbnail, std::int64_t y, std::int64_t x,
               std::int64_t c) {
  const std::int64_t top = y * image.height / thumbnail.height, left = x * image.width / thumbnail.width;
  const std::int64_t bottom = std::max(top + 1, (y + 1) * image.height / thumbnail.height);
  const std::int64_t right = std::max(left + 1, (x + 1) * image.width / thumbnail.width);
  double sum = 0;
  for (std::int64_t i = top; i < bottom; ++i) {
    for (std::int64_t j = left; j < right; ++j) sum += image.at(i, j, c);
  }
  return sum / static_cast<double>((bottom - top) * (right - left));
}

// Normalization is unknown, so the darkest value becomes black and the brightest white.
Thumbnail shrunk(const Image& image) {
  Thumbnail thumbnail;
  const std::int64_t longer = std::max(image.height, image.width);
  const auto side = [&](std::int64_t length) {
    return longer <= kLongest ? length : std::max<std::int64_t>(1, length * kLongest / longer);
  };
  thumbnail.height = side(image.height);
  thumbnail.width = side(image.width);
  thumbnail.channels = image.channels;
  std::vector<double> values;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::int64_t y = 0; y < thumbnail.height; ++y) {
    for (std::int64_t x = 0; x < thumbnail.width; ++x) {
      for (std::int64_t c = 0; c < thumbnail.channels; ++c) {
        const double value = values.emplace_back(mean_of(image, thumbnail, y, x, c));
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  const double scale = high > low ? 255 / (high - low) : 0;
  for (const double value : values)
    thumbnail.pixels.push_back(std::isfinite(value) ? static_cast<std::uint8_t>((value - low) * scale + 0.5)
                                                    : 0);
  return thumbnail;
}

}  // namespace

Thumbnail thumbnail_of(const std::map<std::string, Datum>& inputs) {
  for (const auto& [name, datum] : inputs) {
    if (const auto image = image_of(datum)) return shrunk(*image);
  }
  return {};
}

void WorstSamples::add(std::int64_t sample, double sqnr, const std::map<std::string, Datum>& inputs) {
  const auto place = std::ranges::upper_bound(worst_, sqnr, {}, &SampleError::sqnr);
  if (worst_.size() == kKept && place == worst_.end()) return;
  worst_.insert(place, {sample, sqnr, thumbnail_of(inputs)});
  if (worst_.size() > kKept) worst_.pop_back();
}

}  // namespace anybit
