// Block minifloats: the block shares the bias of its elements, which are minifloats without Inf and NaN.
//
// Words of a block: one, the bias as a signed integer of bias_width bits. Its stored byte is the bias +
// 2^(bias_width-1). A value outside float32 (a bias lower than any data needs) decodes to the nearest finite
// one.
#pragma once

#include <algorithm>

#include "formats/codec.hpp"
#include "formats/minifloat.hpp"

namespace anybit::formats {

class BlockMinifloatCodec final : public Codec {
 public:
  BlockMinifloatCodec(int exponent_bits, int mantissa_bits, int bias_width)
      : exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits), bias_width_(bias_width) {}
  int bias_width() const { return bias_width_; }
  int lowest_bias() const { return -(1 << (bias_width_ - 1)); }
  int highest_bias() const { return (1 << (bias_width_ - 1)) - 1; }
  MinifloatLayout layout(int bias) const { return {exponent_bits_, mantissa_bits_, bias, Flavour::finite}; }
  // The bias that puts this magnitude into the top binade, clamped to the valid biases; for 0 the highest
  // bias.
  int bias_for(float largest) const;

  Properties properties() const override;
  int bits() const override { return 1 + exponent_bits_ + mantissa_bits_; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }

 private:
  // The lowest bias from 0 on for which float32 holds all values.
  int neutral_bias() const { return std::max(0, (1 << exponent_bits_) - 128); }

  int exponent_bits_, mantissa_bits_, bias_width_;
};

}  // namespace anybit::formats
