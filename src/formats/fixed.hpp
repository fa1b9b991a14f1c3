// Fixed point: integers q that represent q / 2^frac; docs/formats.md#fixed.
#pragma once

#include <optional>

#include "formats/codec.hpp"

namespace anybit::formats {

struct FixedLayout {
  int bits = 8;
  bool is_signed = true;

  std::int64_t lowest() const { return is_signed ? -(std::int64_t{1} << (bits - 1)) : 0; }
  std::int64_t highest() const { return (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1; }
  // The range of fraction bits for which every value is a float32.
  int fewest_places() const { return bits - 127; }
  int most_places() const { return 149; }
  bool has_codes() const { return bits <= 16; }
  Code16 code_of(int q) const { return static_cast<Code16>(q & ((1 << bits) - 1)); }
  int integer_of(Code16 code) const {
    const int low = code & ((1 << bits) - 1);
    return is_signed && (low >> (bits - 1)) != 0 ? low - (1 << bits) : low;
  }
};

// Above 16 bits, values have no codes: they are only quantized. Constants are stored as int32.
class FixedCodec final : public Codec {
 public:
  // Without `frac` each group has its own, chosen from the data.
  FixedCodec(FixedLayout layout, std::optional<int> frac) : layout_(layout), frac_(frac) {}
  const FixedLayout& layout() const { return layout_; }
  int frac(ConstWords words) const { return frac_ ? *frac_ : static_cast<int>(words[0]); }

  Properties properties() const override;
  int bits() const override { return layout_.bits; }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Result<void> packable() const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }
  Range range(ConstWords words) const override;

 private:
  // The integer for one value, i-th of those drawn.
  double rounded(float x, int frac, Draw draw, std::size_t i) const;

  FixedLayout layout_;
  std::optional<int> frac_;
};

}  // namespace anybit::formats
