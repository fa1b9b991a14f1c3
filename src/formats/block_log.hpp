// Block logarithmic: an element is a sign and an exponent code c, ±2^(c - bias); the block shares the bias.
//
// Words of a block: one, the bias as a signed integer of bias_width bits. Its stored byte is the bias +
// 2^(bias_width-1). A value outside float32 (a bias lower than any data needs) decodes to the nearest finite
// one.
#pragma once

#include "formats/codec.hpp"

namespace anybit::formats {

class BlockLogCodec final : public Codec {
 public:
  BlockLogCodec(int width, int bias_width, bool with_zero)
      : width_(width), bias_width_(bias_width), with_zero_(with_zero) {}
  bool with_zero() const { return with_zero_; }  // code 0 is zero, not 2^-bias
  int bias_width() const { return bias_width_; }
  int highest_code() const { return (1 << (width_ - 1)) - 1; }  // without the sign
  int lowest_bias() const { return -(1 << (bias_width_ - 1)); }
  int highest_bias() const { return (1 << (bias_width_ - 1)) - 1; }
  // The bias that gives this magnitude the highest code, clamped to the valid biases; for 0 the highest bias.
  int bias_for(float largest) const;

  Properties properties() const override;
  int bits() const override { return width_; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  // The thresholds are part of the format: the requested rounding is ignored.
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }

 private:
  int code_of(float x, int bias) const;  // without the sign

  int width_, bias_width_;
  bool with_zero_;
};

}  // namespace anybit::formats
