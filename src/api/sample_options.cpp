#include "api/sample_options.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "api/image_size.hpp"
#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

// The first option that is given and is for image files only; empty: none.
std::string for_images(const SampleOptions& options) {
  return !options.size.empty()       ? "--size"
         : !options.resize.empty()   ? "--resize"
         : !options.channels.empty() ? "--channels"
                                     : "";
}

// The same for images and arrays of pixels.
std::string for_pixels(const SampleOptions& options) {
  return !options.mean.empty()     ? "--mean"
         : !options.std.empty()    ? "--std"
         : options.scale != 0      ? "--scale"
         : !options.layout.empty() ? "--layout"
                                   : "";
}

}  // namespace

Result<void> check_values(const SampleOptions& options) {
  if (options.limit < 0)
    return invalid_argument(fmt::format("{} samples", options.limit), "1 or more; 0: all");
  if (options.size.size() > 2 || std::ranges::any_of(options.size, [](std::int64_t one) { return one < 1; }))
    return invalid_argument("the size of images is a height and a width", "224,224");
  if (!std::isfinite(options.scale) || options.scale < 0)
    return invalid_argument(fmt::format("pixels cannot be scaled to {}", options.scale),
                            "--scale 1 or --scale 255");
  TRY(resizing_of(options.resize));
  return {};
}

Result<void> check_effects(const SampleOptions& options, const std::function<Result<SampleKinds>()>& kinds) {
  const std::string image = for_images(options), pixel = for_pixels(options);
  if (image.empty() && pixel.empty()) return {};
  const SampleKinds found = TRY(kinds());
  if (found.images) return {};
  if (!image.empty())
    return invalid_argument(fmt::format("{} has no effect: the samples have no images", image),
                            "leave it out, or give image files");
  if (found.pixels) return {};
  return invalid_argument(
      fmt::format("{} has no effect: the samples have neither images nor uint8 pixels", pixel),
      "leave it out: arrays of floating-point numbers are taken as they are");
}

}  // namespace anybit
