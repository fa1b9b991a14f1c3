#include "formats/mase_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/float_bits.hpp"
#include "formats/mase.hpp"

namespace anybit::formats {
namespace {

constexpr int kUnsettled = -1;  // the word of a block of zeros, until settle()

}  // namespace

void MaseBlockCodec::choose(std::span<const float> values, Words words) const {
  words[0] = word_of(word_for(saturated_maximum(values)));
}

Result<void> MaseBlockCodec::choose_from_range(Range range, Words words) const {
  TRY(choose_from_ends(*this, range, words));
  settle(words, std::ssize(words));
  return {};
}

// Of what is outside float32 the nearest number; NaN becomes what zero becomes.
float MaseBlockCodec::rounded(float x, int word) const {
  const float most = std::numeric_limits<float>::max();
  return nearest_finite_float(value_of(is_nan(x) ? 0 : std::clamp(x, -most, most), word));
}

void MaseBlockCodec::encode(std::span<const float> values, ConstWords words, Draw, Code16* codes) const {
  std::vector<float> made(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) made[i] = rounded(values[i], exponent_in(words[0]));
  base_->encode(made, words, {}, codes);
}

void MaseBlockCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  base_->decode(codes, words, values);
}

void MaseBlockCodec::quantize(std::span<const float> values, ConstWords words, Draw, float* out) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    out[i] = passing() && mase::passes(x) ? x : rounded(x, exponent_in(words[0]));
  }
}

// The values of one bias are those of a format with this profile.
std::optional<Ungrouped> MaseBlockCodec::ungrouped(ConstWords words) const {
  auto values = base_->ungrouped(words);
  if (!values || values->format.empty()) return std::nullopt;
  values->parameters["profile"] = std::string("mase");
  return values;
}

int MaseBlockFpCodec::word_for(float largest) const {
  if (largest == 0) return layout_.lowest_exponent();
  return std::clamp(mase::ceil_log2(largest), layout_.lowest_exponent(), layout_.highest_exponent());
}

double MaseBlockFpCodec::value_of(float x, int exponent) const {
  const double unit = wide_power_of_two(exponent - layout_.magnitude_bits());
  const double units = std::nearbyint((std::fabs(x) + mase::kNudge) / unit);
  const double magnitude = std::min<double>(units, layout_.largest_magnitude()) * unit;
  return x < 0 ? -magnitude : x > 0 ? magnitude : 0;
}

Properties MaseBiasCodec::properties() const {
  Properties all = base().properties();
  const int lowest = -(1 << (bias_width_ - 1));  // of the base
  all.largest = std::ldexp(all.largest, lowest);
  all.lowest = -all.largest;
  all.smallest = std::ldexp(all.smallest, lowest);
  return all;
}

std::vector<Field> MaseBiasCodec::fields(std::int64_t) const {
  return {{.name = "exponent_bias", .store = Field::Store::uint8, .stored_bits = bias_width_}};
}

Result<void> MaseBiasCodec::check(ConstWords words) const {
  return check_exponent(exponent_in(words[0]), 0, highest_bias());
}

std::optional<Scaled> MaseBiasCodec::scaled(ConstWords words) const {
  return Scaled{std::ldexp(1.0f, kNeutral - exponent_in(words[0]))};
}

int MaseBlockMinifloatCodec::word_for(float largest) const {
  return largest == 0 ? 0 : std::clamp(mase::floor_log2(largest), 0, highest_bias());
}

double MaseBlockMinifloatCodec::value_of(float x, int bias) const {
  return mase::minifloat(x, {mantissa_bits_, -bias, (1 << exponent_bits_) - 1 - bias});
}

void MaseBlockLogCodec::choose(std::span<const float> values, Words words) const {
  const float largest = saturated_maximum(values);
  words[0] = word_of(largest == 0 ? kUnsettled : word_for(largest));
}

// The smaller a maximum, the larger its bias.
void MaseBlockLogCodec::settle(Words all, std::int64_t stride) const {
  const auto step = static_cast<std::size_t>(stride);
  int bias = kUnsettled;
  for (std::size_t at = 0; at < all.size(); at += step) bias = std::max(bias, exponent_in(all[at]));
  if (bias == kUnsettled) bias = word_for(1);
  for (std::size_t at = 0; at < all.size(); at += step) {
    if (exponent_in(all[at]) == kUnsettled) all[at] = word_of(bias);
  }
}

int MaseBlockLogCodec::word_for(float largest) const {
  return std::clamp(highest_code_ - mase::ceil_log2(largest), 0, highest_bias());
}

double MaseBlockLogCodec::value_of(float x, int bias) const {
  const float offset = 0.1f * static_cast<float>(wide_power_of_two(-bias));
  return mase::logarithmic(x, offset, -bias, highest_code_ - bias);
}

}  // namespace anybit::formats
