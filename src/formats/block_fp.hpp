// Block floating point: a block shares an exponent E; an element is a sign and M, without implicit leading
// bit: ±2^E * M / 2^(width-1).
//
// Words of a block: one, E as a signed integer, layout().lowest_exponent() … highest_exponent(). Its stored
// byte is E + exponent_bias. A code is the sign bit above the bits of M.
#pragma once

#include <algorithm>

#include "formats/block.hpp"
#include "formats/codec.hpp"
#include "formats/quark.hpp"

namespace anybit::formats {

struct BlockFpLayout {
  enum class Rule {
    fit,           // the smallest E for which the rounded maximum of the block fits
    clip,          // ceil(log2 maximum); rounding that exceeds the largest M saturates
    floor,         // floor(log2 maximum) + 1; rounding that exceeds the largest M saturates
    fit_positive,  // as floor, but the next one if a positive value exceeds the largest M; for a negative one
                   // M may be 2^(width-1), which has no code
  };
  int width = 8, exponent_width = 8, exponent_bias = 127;
  Rule rule = Rule::fit;
  bool quark = false;  // Inf and NaN are kept apart, and quantize() is that of AMD Quark's operator

  int magnitude_bits() const { return width - 1; }
  int largest_magnitude() const { return (1 << magnitude_bits()) - 1; }
  int lowest_exponent() const { return -exponent_bias; }
  int highest_exponent() const { return (1 << exponent_width) - 1 - exponent_bias; }
  int lowest_integer() const { return -largest_magnitude() - (rule == Rule::fit_positive ? 1 : 0); }
  double step(int exponent) const { return wide_power_of_two(exponent - magnitude_bits()); }
};

class BlockFpCodec final : public Codec {
 public:
  explicit BlockFpCodec(BlockFpLayout layout) : layout_(layout) {}
  const BlockFpLayout& layout() const { return layout_; }
  // E for a block with this largest magnitude; fit_positive may choose the next one.
  int exponent_for(float largest) const;
  // The same with that choice: `positive` is the largest positive value, or zero.
  int exponent_for(float largest, float positive) const;

  Properties properties() const override;
  int bits() const override { return layout_.width; }
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
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Result<void> packable() const override;

 private:
  BlockFpLayout layout_;
};

// Called for every block, hence inline.
inline int BlockFpCodec::exponent_for(float largest) const {
  if (largest == 0) return layout_.lowest_exponent();
  const auto wanted = [&] {
    switch (layout_.rule) {
      case BlockFpLayout::Rule::clip:
        return ceil_log2(largest);
      case BlockFpLayout::Rule::fit:
        return smallest_exponent_for(largest, layout_.magnitude_bits());
      default:
        return quark_exponent(largest) + 1;
    }
  };
  return std::clamp(wanted(), layout_.lowest_exponent(), layout_.highest_exponent());
}

inline int BlockFpCodec::exponent_for(float largest, float positive) const {
  const int exponent = exponent_for(largest);
  if (layout_.rule != BlockFpLayout::Rule::fit_positive) return exponent;
  const double limit = (layout_.largest_magnitude() + 0.5) * layout_.step(exponent);
  return positive >= limit ? exponent + 1 : exponent;
}

}  // namespace anybit::formats
