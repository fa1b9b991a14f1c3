// Residual binary: a value is a sum of ±γ_1 … ±γ_L; docs/formats.md#binary_residual.
#pragma once

#include <vector>

#include "formats/codec.hpp"

namespace anybit::formats {

// The sums of one group, prepared for encoding: value[i] has code[i], ascending. x is encoded as the i-th,
// where i is the number of thresholds that are at most x.
struct ResidualSums {
  std::vector<float> values;
  std::vector<Code16> codes;
  std::vector<float> thresholds;  // one fewer than values
};

class ResidualCodec final : public Codec {
 public:
  // `given`: the γ, descending; empty: fitted to the data.
  ResidualCodec(int levels, std::vector<float> given, bool clip)
      : levels_(levels), given_(std::move(given)), clip_(clip) {}
  int levels() const { return levels_; }
  bool clip() const { return clip_; }  // to ±1, first
  // γ_1 is the highest bit of the code; a set bit means plus. Summed in double, γ_1 first, then rounded to
  // float32.
  float value(Code16 code, ConstWords words) const;
  ResidualSums sums(ConstWords words) const;

  Properties properties() const override;
  int bits() const override { return levels_; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  bool local() const override { return true; }
  Rounding rounding(Rounding) const override { return Rounding::half_even; }  // its own rule for ties

 private:
  int levels_;
  std::vector<float> given_;
  bool clip_;
};

}  // namespace anybit::formats
