#include "formats/mase_codec.hpp"

#include <cmath>
#include <limits>

#include "formats/float_bits.hpp"
#include "formats/mase.hpp"

namespace anybit::formats {

// Infinity, of which MASE makes NaN, is the largest value as in other profiles; NaN becomes what zero
// becomes.
float MaseCodec::rounded(float x) const {
  if (is_nan(x)) return static_cast<float>(rule_(0));
  const float finite = is_finite(x) ? x : std::copysign(std::numeric_limits<float>::max(), x);
  return static_cast<float>(rule_(finite));
}

void MaseCodec::encode(std::span<const float> values, ConstWords words, Draw, Code16* codes) const {
  std::vector<float> made(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) made[i] = rounded(values[i]);
  base_->encode(made, words, {}, codes);
}

void MaseCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  base_->decode(codes, words, values);
}

void MaseCodec::quantize(std::span<const float> values, ConstWords, Draw, float* out) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    out[i] = passing_ && mase::passes(x) ? x : rounded(x);
  }
}

}  // namespace anybit::formats
