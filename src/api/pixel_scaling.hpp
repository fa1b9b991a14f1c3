// How 8-bit pixels become the values of an input: scaled, then normalized.
#pragma once

#include <cstdint>
#include <vector>

#include "anybit/samples.hpp"

namespace anybit {

class PixelScaling {
 public:
  // For an input with that many channels.
  static Result<PixelScaling> make(const SampleOptions& options, std::int64_t channels);
  // `pixel` is 0 to 255.
  float operator()(float pixel, std::int64_t channel) const {
    const auto c = static_cast<std::size_t>(channel);
    // 255 leaves pixels as they are, bit for bit.
    const float scaled = scale_ == 255 ? pixel : pixel / 255.0F * scale_;
    return (scaled - mean_[c]) / deviation_[c];
  }

 private:
  float scale_ = 1;
  std::vector<float> mean_, deviation_;  // of each channel
};

// Whether the options say how to scale pixels. Then arrays of bytes are taken for pixels, too.
bool scales_pixels(const SampleOptions& options);

}  // namespace anybit
