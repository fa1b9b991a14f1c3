// nvfp4: blocks of e2m1 with an e4m3 scale each, and one float32 scale for the tensor. A value is
// element * float32(block scale * tensor scale), rounded to float32.
//
// Words of a block: the tensor scale's bits (per tensor; positive, finite), then the e4m3 code of the block
// scale, 0 … 0x7E (no sign, no NaN). Where the product of both scales is 0 all codes are 0.
#pragma once

#include "formats/codec.hpp"
#include "formats/minifloat.hpp"

namespace anybit::formats {

class Nvfp4Codec final : public Codec {
 public:
  static constexpr MinifloatLayout kElement = kE2m1, kScale = kE4m3;

  // amax / (6 * 448); 1 for zeros; never 0.
  static float tensor_scale_for(float largest);
  // The e4m3 code of amax / 6 / tensor_scale, in float32 steps.
  static Code16 block_scale_for(float largest, float tensor_scale);
  // The float32 product of the two scales.
  static float step(ConstWords words);

  Properties properties() const override;
  int bits() const override { return kElement.bits(); }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose_for_tensor(std::span<const float> values, Words words) const override;
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  void set_neutral(Words words) const override;
};

}  // namespace anybit::formats
