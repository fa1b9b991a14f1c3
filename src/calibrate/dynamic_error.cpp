#include "calibrate/dynamic_error.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "calibrate/collector_table.hpp"

namespace anybit::calibrate {
namespace {

// Quantized values are zero_point plus multiples of `scale`, within [low, high].
struct Steps {
  float scale, zero_point, low, high;
};

Steps symmetric_steps(float low, float high) {
  const float largest = std::max(-low, high) / 127;
  return {largest > 0 ? largest : 1.0f, 0, -127, 127};
}

Steps asymmetric_steps(float low, float high) {
  const float range = (high - low) / 255, scale = range > 0 ? range : 1.0f;
  return {scale, std::nearbyint(std::clamp(-128 - low / scale, -128.0f, 127.0f)), -128, 127};
}

double squared_error(float x, const Steps& steps) {
  const float q = std::clamp(std::nearbyint(x / steps.scale) + steps.zero_point, steps.low, steps.high);
  const double error = static_cast<double>((q - steps.zero_point) * steps.scale) - static_cast<double>(x);
  return error * error;
}

}  // namespace

Result<void> DynamicError::see(const Look& look, Workbench&, std::mutex& guard) {
  const float low = std::min(0.0f, look.extremes.min), high = std::max(0.0f, look.extremes.max);
  const Steps symmetric = symmetric_steps(low, high), asymmetric = asymmetric_steps(low, high);
  double sums[kSums] = {};
  for (std::size_t i = 0; i < look.n; ++i) {
    const float x = look.x[i];
    if (!std::isfinite(x)) continue;
    sums[0] += static_cast<double>(x) * static_cast<double>(x);
    sums[1] += squared_error(x, symmetric);
    sums[2] += squared_error(x, asymmetric);
  }
  if (!std::ranges::all_of(sums, [](double one) { return std::isfinite(one); })) return {};
  const std::lock_guard lock(guard);
  return sums_.add(sums);
}

Collector::Numbers DynamicError::numbers() const { return {{kSums}, {sums_[0], sums_[1], sums_[2]}}; }

std::span<const CollectorDescriptor> dynamic_error_collector_descriptors() {
  static const CollectorDescriptor all[] = {
      {.name = "dynamic-error",
       .summary = "the error of quantizing the value to 8 bits at run time, symmetrically and asymmetrically",
       .make = [](const View&) -> std::unique_ptr<Collector> { return std::make_unique<DynamicError>(); }}};
  return all;
}

}  // namespace anybit::calibrate
