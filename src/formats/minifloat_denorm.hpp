// Minifloats without implicit leading bit: ±2^E · M / 2^m; docs/formats.md#minifloat_denorm.
#pragma once

#include "formats/codec.hpp"

namespace anybit::formats {

struct DenormLayout {
  int exponent_bits = 4, mantissa_bits = 3, bias = 7;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  Code16 sign_bit() const { return static_cast<Code16>(1u << (exponent_bits + mantissa_bits)); }
  int lowest_exponent() const { return -bias; }
  int highest_exponent() const { return (1 << exponent_bits) - 1 - bias; }
  double magnitude(Code16 code) const;  // of a code without sign
  double largest() const { return magnitude(static_cast<Code16>(sign_bit() - 1)); }
  double smallest() const { return magnitude(1); }

  // The canonical code of the value: the one with the smallest exponent.
  Code16 encode(float x, Rounding rounding, std::uint32_t noise) const;
  float decode(Code16 code) const;
};

// An error if the layout has only zero, or values outside float32.
Result<void> check(const DenormLayout& layout);

class DenormCodec final : public Codec {
 public:
  explicit DenormCodec(DenormLayout layout) : layout_(layout) {}
  const DenormLayout& layout() const { return layout_; }

  Properties properties() const override;
  int bits() const override { return layout_.bits(); }
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;

 private:
  DenormLayout layout_;
};

}  // namespace anybit::formats
