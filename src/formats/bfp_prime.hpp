// Block floating point whose sub-blocks shift the shared exponent down, as AMD Quark's to_bfp_prime: an
// element is a sign and M: ±2^(E-d) * M / 2^(width-1). E and d come from the exponents alone, so that the
// largest M may saturate; subnormal numbers are zeros.
//
// Words of a block: E as a signed integer, -126 … 128, or kNanExponent for a block with Inf or NaN, stored as
// the byte E + 126; then d of each sub-block, 0 … 2^sub_block_shift_bits - 1.
#pragma once

#include "formats/codec.hpp"

namespace anybit::formats {

struct BfpPrimeLayout {
  int width = 8, sub_block_size = 2, shift_bits = 1;
  int magnitude_bits() const { return width - 1; }
  int largest_magnitude() const { return (1 << magnitude_bits()) - 1; }
  int largest_shift() const { return (1 << shift_bits) - 1; }
};

class BfpPrimeCodec final : public Codec {
 public:
  static constexpr int kLowestExponent = -126, kHighestExponent = 128, kNanExponent = 129;

  explicit BfpPrimeCodec(BfpPrimeLayout layout) : layout_(layout) {}
  const BfpPrimeLayout& layout() const { return layout_; }

  Properties properties() const override;
  int bits() const override { return layout_.width; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  // Any sub-block may hold the ends of the range, so none is shifted.
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }
  bool independent() const override { return false; }  // a value's sub-block depends on its position

 private:
  int exponent_at(ConstWords words, std::size_t i) const;
  BfpPrimeLayout layout_;
};

}  // namespace anybit::formats
