#include "formats/scaled.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/affine.hpp"
#include "formats/float_bits.hpp"
#include "formats/sums.hpp"

namespace anybit::formats {

std::vector<Field> ScaledCodec::fields(std::int64_t) const { return {{.name = "scale"}}; }

// A group of zeros gives scale 0; settle() replaces it.
std::uint32_t ScaledCodec::chosen(float magnitude) const {
  if (magnitude == 0) return 0;
  const auto scale = std::max(static_cast<float>(magnitude / largest_), kSmallestScale);
  return bits_of(within_float32(scale, largest_));
}

void ScaledCodec::choose(std::span<const float> values, Words words) const {
  words[0] = chosen(largest_magnitude(finite_range(values)));
}

Result<void> ScaledCodec::choose_from_range(Range range, Words words) const {
  TRY(check_range(range));
  words[0] = chosen(largest_magnitude(range));
  settle(words, 1);
  return {};
}

void ScaledCodec::settle(Words all, std::int64_t stride) const { settle_scales(all, stride); }

Result<void> ScaledCodec::check(ConstWords words) const { return check_scale(float_of(words[0])); }

void ScaledCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const float scale = float_of(words[0]);
  std::vector<float> quotients(values.begin(), values.end());
  for (float& one : quotients) one /= scale;
  element_->encode(quotients, {}, draw, codes);
}

void ScaledCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const float scale = float_of(words[0]);
  element_->decode(codes, {}, values);
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] *= scale;
}

// The element may let values through that have no code.
void ScaledCodec::quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const {
  const float scale = float_of(words[0]);
  std::vector<float> quotients(values.begin(), values.end());
  for (float& one : quotients) one /= scale;
  element_->quantize(quotients, {}, draw, out);
  for (std::size_t i = 0; i < values.size(); ++i) out[i] *= scale;
}

Range ScaledCodec::range(ConstWords words) const {
  const float scale = float_of(words[0]);
  const Range own = element_->range({});
  return {own.low * scale, own.high * scale};
}

std::optional<Scaled> ScaledCodec::scaled(ConstWords words) const { return Scaled{float_of(words[0])}; }

void ScaledCodec::set_neutral(Words words) const { words[0] = bits_of(1.0f); }

Result<std::shared_ptr<const Codec>> codec_of(const Descriptor& format, const Values& values,
                                              const GroupingOptions& grouping) {
  std::shared_ptr<const Codec> codec = TRY(format.make(values));
  const bool in_blocks = grouping.block_size || !grouping.block.empty();
  const Granularity asked =
      grouping.granularity.value_or(in_blocks ? Granularity::block : Granularity::element);
  if (format.granularity != Granularity::element || asked == Granularity::element) return codec;
  return std::make_shared<const ScaledCodec>(std::move(codec));
}

}  // namespace anybit::formats
