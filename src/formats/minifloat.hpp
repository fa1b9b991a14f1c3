// The layout of a minifloat and its scalar codec, for minifloat formats and formats made of minifloats.
#pragma once

#include <cstdint>

#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

// Which codes are not finite numbers; docs/formats.md#minifloat.
enum class Flavour {
  inf,     // IEEE 754: the top exponent is Inf (mantissa 0) or NaN
  fn,      // no Inf; the code of all ones is NaN
  fnuz,    // no Inf, no -0: the code of -0 is the one NaN
  finite,  // every code is a finite number
};

struct MinifloatLayout {
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  Flavour flavour = Flavour::finite;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  Code16 sign_bit() const { return static_cast<Code16>(1u << (exponent_bits + mantissa_bits)); }
  int lowest_exponent() const { return 1 - bias; }  // of normal numbers, and of the step of subnormals
  Code16 largest_code() const;                      // of the largest finite magnitude
  double largest() const { return magnitude(largest_code()); }
  double smallest() const { return magnitude(1); }
  int largest_exponent() const;               // emax: floor(log2(largest))
  Code16 nan_code() const;                    // flavour finite: zero
  Code16 overflow_code(bool saturate) const;  // the code of overflow
  double magnitude(Code16 code) const;        // of a finite code without sign

  Code16 encode(float x, bool saturate, Rounding rounding, std::uint32_t noise) const;
  float decode(Code16 code) const;
};

// Why a minifloat with these magnitudes does not fit float32, and a hint; empty if it fits.
struct BeyondFloat32 {
  std::string why, hint;
};
std::optional<BeyondFloat32> beyond_float32(double largest, double smallest);

// An error if the layout has no values, or values outside float32.
Result<void> check(const MinifloatLayout& layout);

class MinifloatCodec final : public Codec {
 public:
  MinifloatCodec(MinifloatLayout layout, bool saturate) : layout_(layout), saturate_(saturate) {}
  const MinifloatLayout& layout() const { return layout_; }
  bool saturate() const { return saturate_; }

  Properties properties() const override;
  int bits() const override { return layout_.bits(); }
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;

 private:
  MinifloatLayout layout_;
  bool saturate_;
};

// E8M0: powers of two, 2^(code - 127), 255 is NaN; no sign, no zero. A format for scales. Rounds to nearest,
// ties up: a significand of 1.5 rounds to the even number, 2.
struct E8m0 {
  static constexpr int kBias = 127;
  static constexpr Code16 kNanCode = 255, kLargestCode = 254;
  // Zero and negative numbers have no code: they become the smallest value if `saturate`, otherwise NaN.
  static Code16 encode(float x, bool saturate, Rounding rounding, std::uint32_t noise);
  static float decode(Code16 code) {
    return (code & 255) == kNanCode ? kNan : power_of_two((code & 255) - kBias);
  }
};

class E8m0Codec final : public Codec {
 public:
  explicit E8m0Codec(bool saturate) : saturate_(saturate) {}
  bool saturate() const { return saturate_; }

  Properties properties() const override;
  int bits() const override { return 8; }
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;

 private:
  bool saturate_;
};

// The layouts of named formats.
inline constexpr MinifloatLayout kE5m2{5, 2, 15, Flavour::inf};
inline constexpr MinifloatLayout kE4m3{4, 3, 7, Flavour::fn};
inline constexpr MinifloatLayout kE3m2{3, 2, 3, Flavour::finite};
inline constexpr MinifloatLayout kE2m3{2, 3, 1, Flavour::finite};
inline constexpr MinifloatLayout kE2m1{2, 1, 1, Flavour::finite};
inline constexpr MinifloatLayout kE4m3fnuz{4, 3, 8, Flavour::fnuz};
inline constexpr MinifloatLayout kE5m2fnuz{5, 2, 16, Flavour::fnuz};
inline constexpr MinifloatLayout kFloat16{5, 10, 15, Flavour::inf};
inline constexpr MinifloatLayout kBfloat16{8, 7, 127, Flavour::inf};

}  // namespace anybit::formats
