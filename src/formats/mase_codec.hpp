// Formats without shared parameters under `profile=mase`: the values and codes of another codec, other
// rounding.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "formats/codec.hpp"

namespace anybit::formats {

class MaseCodec final : public Codec {
 public:
  // The value, of those of `base`, that a finite x is quantized to.
  using Rule = std::function<double(float)>;
  // `passing`: quantize() returns tiny magnitudes as they are.
  MaseCodec(std::shared_ptr<const Codec> base, bool passing, Rule rule)
      : base_(std::move(base)), passing_(passing), rule_(std::move(rule)) {}
  const Codec& base() const { return *base_; }

  Properties properties() const override { return base_->properties(); }
  int bits() const override { return base_->bits(); }
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Range range(ConstWords words) const override { return base_->range(words); }
  // The profile has no other rounding.
  Rounding rounding(Rounding) const override { return Rounding::half_even; }

 private:
  float rounded(float x) const;

  std::shared_ptr<const Codec> base_;
  bool passing_;
  Rule rule_;
};

// The codec of a format whose profile is a parameter.
template <class Base>
const Base& base_of(const Codec& codec) {
  const auto* mase = dynamic_cast<const MaseCodec*>(&codec);
  return dynamic_cast<const Base&>(mase ? mase->base() : codec);
}
inline bool is_mase(const Codec& codec) { return dynamic_cast<const MaseCodec*>(&codec) != nullptr; }

}  // namespace anybit::formats
