// Binary: one bit per value, ±1 or 0 and 1, with or without a scale; docs/formats.md#binary.
#pragma once

#include "formats/codec.hpp"
#include "formats/float_bits.hpp"

namespace anybit::formats {

class BinaryCodec final : public Codec {
 public:
  BinaryCodec(bool bipolar, bool scaled) : bipolar_(bipolar), scaled_(scaled) {}
  bool bipolar() const { return bipolar_; }
  bool scaled() const { return scaled_; }
  float high(ConstWords words) const { return scaled_ ? float_of(words[0]) : 1.0f; }  // value of code 1
  float low(ConstWords words) const { return bipolar_ ? -high(words) : 0.0f; }        // value of code 0

  Properties properties() const override;
  int bits() const override { return 1; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  bool local() const override { return true; }
  Range range(ConstWords words) const override { return {low(words), high(words)}; }
  std::optional<Scaled> scaled(ConstWords words) const override;
  void set_neutral(Words words) const override;
  // The threshold is fixed; only `stochastic` changes it.
  Rounding rounding(Rounding asked) const override {
    return asked == Rounding::stochastic ? asked : Rounding::half_even;
  }

 private:
  bool bipolar_, scaled_;
};

}  // namespace anybit::formats
