// Shared microexponents: a block shares an exponent E; each pair of neighbours shares one more bit d that
// halves their step. An element is a sign and M: ±2^(E-d) * M / 2^bits.
//
// Words of a block: E as a signed integer, -127 … 128, stored as the byte E + 127; then the shift bits, that
// of the p-th pair in bit p % 32 of word 1 + p / 32. In a block of odd size the last value is a pair of its
// own.
#pragma once

#include "formats/codec.hpp"

namespace anybit::formats {

class SharedMicroCodec final : public Codec {
 public:
  static constexpr int kLowestExponent = -127, kHighestExponent = 128;

  explicit SharedMicroCodec(int magnitude_bits) : magnitude_bits_(magnitude_bits) {}
  int magnitude_bits() const { return magnitude_bits_; }
  // E for a block with this largest magnitude: the smallest for which it fits after rounding.
  int exponent_for(float largest) const;
  // Whether a pair with this largest magnitude fits the finer step after rounding.
  bool shifts(float largest_of_pair, int exponent) const;

  Properties properties() const override;
  int bits() const override { return 1 + magnitude_bits_; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  // Any pair may hold the ends of the range, so no pair uses the finer step.
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }
  bool independent() const override { return false; }  // a value's pair depends on its position

 private:
  int magnitude_bits_;
};

}  // namespace anybit::formats
