// Affine integers: q = clamp(round(x / scale) + zero_point). The codec, its scales, and requantization of an
// integer accumulator to the next tensor; docs/formats.md#affine.
#pragma once

#include <cstdint>

#include "formats/codec.hpp"

namespace anybit::formats {

struct AffineLayout {
  int bits = 8;
  bool is_signed = true;
  bool symmetric = true;  // fixed zero point: 0, or the middle of an unsigned range
  bool narrow = true;     // without the lowest code, so that the range is symmetric

  int lowest() const { return (is_signed ? -(1 << (bits - 1)) : 0) + (narrow ? 1 : 0); }
  int highest() const { return is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1; }
  int fixed_zero_point() const { return is_signed ? 0 : 1 << (bits - 1); }
  Code16 code_of(int q) const { return static_cast<Code16>(q & ((1 << bits) - 1)); }
  int integer_of(Code16 code) const {  // two's complement where signed
    const int low = code & ((1 << bits) - 1);
    return is_signed && (low >> (bits - 1)) != 0 ? low - (1 << bits) : low;
  }
};

// The scale, or the largest scale for which `steps` steps fit float32.
float within_float32(float scale, double steps);

// For words of groups that start with the scale: a scale of 0 (a group of zeros) becomes the largest scale of
// the other groups, or 1.
void settle_scales(Words all, std::int64_t stride);

// The type of a scale. Each kind rounds the float32 scale of the range.
enum class ScaleKind {
  float32,
  float16,            // to nearest even; at least 2^-24
  bfloat16,           // to nearest even
  power_of_two,       // 2^round(log2(scale))
  power_of_two_ceil,  // 2^ceil(log2(scale))
  multiplier31,       // 31 significant bits: every float32
  multiplier15,       // 15 significant bits, to nearest even
};

// Significant bits of such a scale, the implicit leading bit included.
int significant_bits(ScaleKind kind);
// The nearest scale of that kind: finite, positive, at least the smallest normal float32.
float scale_of_kind(float scale, ScaleKind kind);

struct AffineParameters {
  float scale = 1;
  int zero_point = 0;
};

class AffineCodec final : public Codec {
 public:
  AffineCodec(AffineLayout layout, ScaleKind kind, float eps) : layout_(layout), kind_(kind), eps_(eps) {}
  const AffineLayout& layout() const { return layout_; }
  ScaleKind kind() const { return kind_; }
  AffineParameters parameters(ConstWords words) const;
  // From a range; for a range of zero width the scale is 0.
  AffineParameters for_range(Range range) const;

  Properties properties() const override;
  int bits() const override { return layout_.bits; }
  std::vector<Field> fields(std::int64_t size) const override;
  // A group of zeros gets scale 0, which encodes and decodes zeros correctly; settle() replaces it by the
  // largest scale of the other groups, or 1.
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  void settle(Words all, std::int64_t stride) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  void set_neutral(Words words) const override;

 private:
  void write(AffineParameters parameters, Words words) const;

  AffineLayout layout_;
  ScaleKind kind_;
  float eps_;
};

// Requantization: m = float32(double(s_in) · s_w / s_out).
float requantization_multiplier(float input_scale, float weight_scale, float output_scale);
// clamp(round(float32(acc + bias) · m) + zero_point, low, high): one conversion, one multiplication, one
// rounding.
std::int32_t requantize(std::int64_t acc, std::int64_t bias, float m, std::int32_t zero_point,
                        std::int32_t low, std::int32_t high);

// A positive multiplier for integer-only targets: mantissa · 2^-shift.
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  int shift = 0;  // 0 … 62
};
// `mantissa_bits` is 31 or 15: the mantissa has exactly that many bits, rounded half to even (fewer if the
// shift would exceed 62). An error if m is not positive and finite, or too large for a shift of 0.
Result<FixedMultiplier> fixed_multiplier(double m, int mantissa_bits);
// round_half_up(acc · mantissa / 2^shift). The product must fit int64: |acc| below 2^32 for a 31-bit
// mantissa, below 2^48 for 15 bits.
std::int64_t scale_by(std::int64_t acc, FixedMultiplier multiplier);

}  // namespace anybit::formats
