// OCP Microscaling formats: a block shares a power of two (E8M0); its elements are minifloats or 8-bit
// integers in units of 1/64. A value is 2^E * element.
//
// Words of a block: one, E as a signed integer, -127 … 127. kNanExponent is the NaN scale, whose block
// decodes to NaN. The stored byte is E + 127, so that NaN is 255 as in E8M0. With ScaleOverflow::unclamped, E
// may be below -127, down to -127 - emax, and cannot be stored. A finite element whose value exceeds float32
// (int8's -2 * 2^127) decodes to the nearest finite float32.
#pragma once

#include <algorithm>
#include <optional>

#include "formats/block.hpp"
#include "formats/codec.hpp"
#include "formats/minifloat.hpp"

namespace anybit::formats {

struct MxElement {
  bool integer = false;          // int8 in units of 1/64; otherwise `layout`
  MinifloatLayout layout;        // of a float element
  std::string_view format = {};  // the format of a float element
  int bits() const { return integer ? 8 : layout.bits(); }
  int largest_exponent() const { return integer ? 0 : layout.largest_exponent(); }  // emax
  int mantissa_bits() const { return integer ? 6 : layout.mantissa_bits; }
};

enum class ScaleRule { floor, ceil, even };
enum class ScaleOverflow { clamp, nan, unclamped };
enum class Nonfinite { block, element };

struct MxOptions {
  ScaleRule scale_rule = ScaleRule::floor;
  ScaleOverflow scale_overflow = ScaleOverflow::clamp;
  Nonfinite nonfinite = Nonfinite::block;
  bool symmetric = false;  // int8: -127 … 127
  bool quark = false;  // zeros, subnormal numbers and overflow of quantize() as AMD Quark's operator has them
  std::optional<Rounding> rounding = {};  // always this one
  Rounding usual = Rounding::half_even;   // where half to even is asked, which is the default of callers
};

class MxCodec final : public Codec {
 public:
  static constexpr int kLowestExponent = -127, kHighestExponent = 127, kNanExponent = 128;

  MxCodec(MxElement element, MxOptions options)
      : element_(element), options_(options), largest_exponent_(element.largest_exponent()) {}
  const MxElement& element() const { return element_; }
  const MxOptions& options() const { return options_; }
  // E for a block with this largest finite magnitude.
  int exponent_for(float largest) const;

  Properties properties() const override;
  int bits() const override { return element_.bits(); }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }
  Rounding rounding(Rounding asked) const override {
    return options_.rounding.value_or(asked == Rounding::half_even ? options_.usual : asked);
  }
  // The lowest E of a block that is not zero.
  int lowest_exponent() const;
  Result<void> packable() const override;

 private:
  int lowest_integer() const { return options_.symmetric ? -127 : -128; }
  Code16 encode_one(float x, int exponent, Rounding rounding, std::uint32_t noise) const;
  float decode_one(Code16 code, int exponent) const;
  float quark_one(float x, int exponent, Rounding rounding, std::uint32_t noise) const;

  MxElement element_;
  MxOptions options_;
  int largest_exponent_;  // of the element; cached, because it is needed for every block
};

// E8M0 ends at 2^-127. Without a clamp, subnormal maxima count as 2^-127.
inline int MxCodec::lowest_exponent() const {
  return kLowestExponent - (options_.scale_overflow == ScaleOverflow::unclamped ? largest_exponent_ : 0);
}

// Called for every block, hence inline.
inline int MxCodec::exponent_for(float largest) const {
  if (largest == 0) return kLowestExponent;
  int exponent = exponent_of(largest);
  const std::uint32_t significand = significand_of(largest), one = 1u << 23;
  const std::uint32_t half_a_step = 1u << (22 - element_.mantissa_bits());
  if (options_.scale_rule == ScaleRule::ceil && significand != one) ++exponent;
  if (options_.scale_rule == ScaleRule::even && significand + half_a_step >= 2 * one) ++exponent;
  exponent -= largest_exponent_;
  if (exponent > kHighestExponent) {
    return options_.scale_overflow == ScaleOverflow::nan ? kNanExponent : kHighestExponent;
  }
  return std::max(exponent, lowest_exponent());
}

}  // namespace anybit::formats
