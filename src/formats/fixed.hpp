// Fixed point: integers q that represent q / 2^frac; docs/formats.md#fixed.
#pragma once

#include <optional>

#include "formats/codec.hpp"

namespace anybit::formats {

struct FixedLayout {
  int bits = 8;
  bool is_signed = true;

  int lowest() const { return is_signed ? -(1 << (bits - 1)) : 0; }
  int highest() const { return is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1; }
  // The range of fraction bits for which every value is a float32.
  int fewest_places() const { return bits - 127; }
  int most_places() const { return 149; }
  Code16 code_of(int q) const { return static_cast<Code16>(q & ((1 << bits) - 1)); }
  int integer_of(Code16 code) const {
    const int low = code & ((1 << bits) - 1);
    return is_signed && (low >> (bits - 1)) != 0 ? low - (1 << bits) : low;
  }
};

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
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
  bool local() const override { return true; }
  Range range(ConstWords words) const override;

 private:
  FixedLayout layout_;
  std::optional<int> frac_;
};

}  // namespace anybit::formats
