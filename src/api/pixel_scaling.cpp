#include "api/pixel_scaling.hpp"

#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit {
namespace {

// One number for each channel.
Result<std::vector<float>> spread(const std::vector<float>& numbers, std::int64_t channels, float otherwise,
                                  float scale, const char* what) {
  const auto count = static_cast<std::size_t>(channels);
  if (numbers.empty()) return std::vector<float>(count, otherwise);
  if (numbers.size() != 1 && numbers.size() != count)
    return invalid_argument(fmt::format("{} numbers for {} of {} channels", numbers.size(), what, channels));
  for (const float number : numbers) {
    if (!(std::abs(number) <= 2 * scale))
      return invalid_argument(fmt::format("{} is {}, but pixels are 0 to {:g} here", what, number, scale),
                              scale == 1 ? "divide it by 255, or keep pixels 0 to 255 by --scale 255"
                                         : "in the units of --scale");
  }
  return numbers.size() == count ? numbers : std::vector<float>(count, numbers[0]);
}

}  // namespace

Result<PixelScaling> PixelScaling::make(const SampleOptions& options, std::int64_t channels) {
  PixelScaling scaling;
  if (options.scale != 0) scaling.scale_ = options.scale;
  if (!std::isfinite(scaling.scale_) || scaling.scale_ <= 0)
    return invalid_argument(fmt::format("pixels cannot be scaled to {}", options.scale),
                            "--scale 1 or --scale 255");
  scaling.mean_ = TRY(spread(options.mean, channels, 0, scaling.scale_, "mean"));
  scaling.deviation_ = TRY(spread(options.std, channels, 1, scaling.scale_, "std"));
  for (const float deviation : scaling.deviation_) {
    if (deviation == 0) return invalid_argument("std is zero");
  }
  return scaling;
}

bool scales_pixels(const SampleOptions& options) {
  return options.scale != 0 || !options.mean.empty() || !options.std.empty();
}

}  // namespace anybit
