// Logarithmic numbers: a sign and an exponent, ±2^k; docs/formats.md#log.
#pragma once

#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

// The lowest significand above √2, of its 23 stored bits. (The float32 nearest to √2, 0x3504F3, is below √2.)
inline constexpr std::uint32_t kAboveRootOfTwo = 0x3504F4u;

// round(log2 |x|) of a finite, non-zero x.
inline int nearest_exponent(float x) {
  const int exponent = exponent_of(x);
  std::uint32_t bits = magnitude_bits(x);
  if (bits < 0x00800000u) bits <<= exponent_of(0x1p-126f) - exponent;  // normalizes a subnormal
  return exponent + ((bits & 0x007FFFFFu) >= kAboveRootOfTwo ? 1 : 0);
}

struct LogLayout {
  int bits = 8;
  int bias = 63;
  bool with_zero = false;  // the lowest code is zero

  Code16 sign_bit() const { return static_cast<Code16>(1u << (bits - 1)); }
  int lowest_exponent() const { return with_zero ? 1 - bias : -bias; }
  int highest_exponent() const { return (1 << (bits - 1)) - 1 - bias; }
  Code16 encode(float x) const;
  float decode(Code16 code) const;
};

// An error if the layout has values outside float32, or only zero.
Result<void> check(const LogLayout& layout);

class LogCodec final : public Codec {
 public:
  explicit LogCodec(LogLayout layout) : layout_(layout) {}
  const LogLayout& layout() const { return layout_; }

  Properties properties() const override;
  int bits() const override { return layout_.bits; }
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  // Its own thresholds: the logarithm is rounded and never a tie.
  Rounding rounding(Rounding) const override { return Rounding::half_even; }

 private:
  LogLayout layout_;
};

}  // namespace anybit::formats
