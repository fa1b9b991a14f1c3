#include "api/image_size.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "anybit/limits.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

// For each position of a resized line: the first source position and the weights. Triangle filter (bilinear),
// as wide as the larger of the source and destination steps, so that downscaling averages.
struct Tent {
  std::int64_t first;
  std::vector<float> weights;
};

std::vector<Tent> tents(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Tent> result;
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(center - reach + 0.5)));
    const auto end = std::min(from, static_cast<std::int64_t>(std::floor(center + reach + 0.5)));
    Tent tent{begin, {}};
    double sum = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const double away = std::abs(static_cast<double>(k) + 0.5 - center) / reach;
      tent.weights.push_back(static_cast<float>(std::max(0.0, 1 - away)));
      sum += static_cast<double>(tent.weights.back());
    }
    for (float& weight : tent.weights) weight = static_cast<float>(static_cast<double>(weight) / sum);
    result.push_back(std::move(tent));
  }
  return result;
}

// Resizes `lines` lines of `count` elements each to `to` lines, `outer` times.
std::vector<float> stretched(const std::vector<float>& from, std::int64_t outer, std::int64_t lines,
                             std::int64_t count, std::int64_t to) {
  std::vector<float> result(static_cast<std::size_t>(outer * to * count));
  const std::vector<Tent> plan = tents(lines, to);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < to; ++i) {
      const Tent& tent = plan[static_cast<std::size_t>(i)];
      float* target = result.data() + (o * to + i) * count;
      for (std::size_t k = 0; k < tent.weights.size(); ++k) {
        const float* source = from.data() + (o * lines + tent.first + static_cast<std::int64_t>(k)) * count;
        for (std::int64_t c = 0; c < count; ++c) target[c] += tent.weights[k] * source[c];
      }
    }
  }
  return result;
}

// A size that a file, a model or a user asks for is no reason to run out of memory.
Result<void> check_size(std::int64_t height, std::int64_t width, std::int64_t channels) {
  const std::int64_t dims[] = {height, width, channels};
  const auto count = element_count(dims);
  if (count && *count <= Limits{}.pixels * 3) return {};
  return error_at(Code::limit_exceeded, {},
                  fmt::format("an image of {} x {} pixels is too large", height, width),
                  fmt::format("up to {} pixels", Limits{}.pixels));
}

Result<DecodedImage> resized(DecodedImage image, std::int64_t height, std::int64_t width) {
  TRY(check_size(image.height, width, image.channels));
  if (width != image.width) {
    image.pixels = stretched(image.pixels, image.height, image.width, image.channels, width);
    image.width = width;
  }
  TRY(check_size(height, width, image.channels));
  if (height != image.height) {
    image.pixels = stretched(image.pixels, 1, image.height, image.width * image.channels, height);
    image.height = height;
  }
  return image;
}

// The image in a frame: shifted down by `top` and right by `left`, cut off at the frame, and surrounded by
// `border`.
Result<DecodedImage> framed(const DecodedImage& image, std::int64_t top, std::int64_t left,
                            std::int64_t height, std::int64_t width, float border) {
  TRY(check_size(height, width, image.channels));
  DecodedImage frame{height, width, image.channels, {}};
  frame.pixels.assign(static_cast<std::size_t>(height * width * image.channels), border);
  const std::int64_t from = std::max<std::int64_t>(0, -left), to = std::min(image.width, width - left);
  for (std::int64_t row = std::max<std::int64_t>(0, -top); row < std::min(image.height, height - top);
       ++row) {
    const auto source = image.pixels.begin() + (row * image.width + from) * image.channels;
    std::copy_n(source, std::max<std::int64_t>(0, to - from) * image.channels,
                frame.pixels.begin() + ((row + top) * width + left + from) * image.channels);
  }
  return frame;
}

std::int64_t rounded(double size) { return std::max<std::int64_t>(1, std::llround(size)); }

// Both sides by the same factor, the shorter one to `shorter`. The longer one is rounded down, as torchvision
// does.
Result<DecodedImage> with_shorter_side(DecodedImage image, std::int64_t shorter) {
  const std::int64_t least = std::min(image.height, image.width);
  const auto scaled = [&](std::int64_t side) {
    return side == least ? shorter
                         : static_cast<std::int64_t>(static_cast<double>(shorter) *
                                                     static_cast<double>(side) / static_cast<double>(least));
  };
  const std::int64_t height = scaled(image.height), width = scaled(image.width);
  return resized(std::move(image), height, width);
}

Result<DecodedImage> letterboxed(DecodedImage image, std::int64_t height, std::int64_t width, float border) {
  const double factor = std::min(static_cast<double>(height) / static_cast<double>(image.height),
                                 static_cast<double>(width) / static_cast<double>(image.width));
  const std::int64_t inner_height = rounded(static_cast<double>(image.height) * factor),
                     inner_width = rounded(static_cast<double>(image.width) * factor);
  image = TRY(resized(std::move(image), inner_height, inner_width));
  return framed(image, (height - inner_height) / 2, (width - inner_width) / 2, height, width, border);
}

Result<DecodedImage> cropped(DecodedImage image, std::int64_t shorter, std::int64_t height,
                             std::int64_t width) {
  if (shorter > 0) {
    image = TRY(with_shorter_side(std::move(image), shorter));
    if (image.height < height || image.width < width)
      return invalid_argument(fmt::format("a crop of {} x {} pixels does not fit into an image of {} x {}",
                                          height, width, image.height, image.width),
                              fmt::format("--resize crop:{}", std::max(height, width)));
  } else {
    const double factor = std::max(static_cast<double>(height) / static_cast<double>(image.height),
                                   static_cast<double>(width) / static_cast<double>(image.width));
    const std::int64_t outer_height = std::max(height, rounded(static_cast<double>(image.height) * factor)),
                       outer_width = std::max(width, rounded(static_cast<double>(image.width) * factor));
    image = TRY(resized(std::move(image), outer_height, outer_width));
  }
  // Rounded as in torchvision's CenterCrop.
  const auto before = [](std::int64_t outer, std::int64_t inner) {
    return std::llrint(static_cast<double>(outer - inner) / 2);
  };
  return framed(image, -before(image.height, height), -before(image.width, width), height, width, 0);
}

Error unknown_resizing(const std::string& text) {
  return invalid_argument(fmt::format("images cannot be resized by '{}'", shown(text)),
                          "stretch, letterbox, letterbox:114, crop, crop:256 or shorter");
}

}  // namespace

Result<Resizing> resizing_of(const std::string& text) {
  using Mode = Resizing::Mode;
  const std::size_t colon = text.find(':');
  const std::string_view mode = std::string_view(text).substr(0, colon);
  Resizing resizing;
  if (text.empty() || text == "stretch") return resizing;
  resizing.mode = mode == "letterbox" ? Mode::letterbox
                  : mode == "crop"    ? Mode::crop
                  : text == "shorter" ? Mode::shorter
                                      : Mode::stretch;
  if (resizing.mode == Mode::stretch) return unknown_resizing(text);
  if (colon == std::string::npos) return resizing;
  int number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, number);
  const bool letterbox = resizing.mode == Mode::letterbox;
  if (read.ec != std::errc() || read.ptr != end || number < (letterbox ? 0 : 1) ||
      number > (letterbox ? 255 : 1 << 20))
    return unknown_resizing(text);
  if (letterbox) {
    resizing.border = static_cast<float>(number);
  } else {
    resizing.shorter = number;
  }
  return resizing;
}

Result<DecodedImage> with_size(DecodedImage image, const Resizing& resizing, std::int64_t height,
                               std::int64_t width) {
  using Mode = Resizing::Mode;
  if (resizing.mode == Mode::shorter) {
    const std::int64_t side = height > 0 && width > 0 ? std::min(height, width) : std::max(height, width);
    if (side == 0) return image;
    return with_shorter_side(std::move(image), side);
  }
  if (height == 0) height = image.height;
  if (width == 0) width = image.width;
  if (resizing.mode == Mode::letterbox) return letterboxed(std::move(image), height, width, resizing.border);
  if (resizing.mode == Mode::crop) return cropped(std::move(image), resizing.shorter, height, width);
  return resized(std::move(image), height, width);
}

}  // namespace anybit
