// Ternary: -1, 0 and +1 around a threshold, with or without a scale; docs/formats.md#ternary.
#pragma once

#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

class TernaryCodec final : public Codec {
 public:
  enum class Basis { mean, median, max };

  TernaryCodec(double factor, Basis basis, bool scaled, Packing packing = Packing::bits)
      : factor_(factor), basis_(basis), scaled_(scaled), packing_(packing) {}
  bool scaled() const { return scaled_; }
  // Values above it become +1, values below its negative -1.
  float threshold(ConstWords words) const { return float_of(words[0]); }
  float scale(ConstWords words) const { return scaled_ ? float_of(words[1]) : 1.0f; }

  // Two bits, two's complement; 0b10 is not canonical and decodes to 0.
  static constexpr Code16 kZero = 0b00, kPlus = 0b01, kMinus = 0b11;

  Properties properties() const override;
  int bits() const override { return 2; }
  Packing packing() const override { return packing_; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  bool local() const override { return true; }
  Range range(ConstWords words) const override { return {-scale(words), scale(words)}; }
  std::optional<Scaled> scaled(ConstWords words) const override;
  void set_neutral(Words words) const override;
  Rounding rounding(Rounding) const override { return Rounding::half_even; }  // its own threshold

 private:
  double factor_;
  Basis basis_;
  bool scaled_;
  Packing packing_;
};

}  // namespace anybit::formats
