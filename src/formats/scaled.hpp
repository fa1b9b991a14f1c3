// Adds a scale per group to formats without shared parameters: docs/formats.md#scaled.
#pragma once

#include <memory>

#include "formats/codec.hpp"
#include "formats/grouping.hpp"

namespace anybit::formats {

// x = scale · value: the scale maps the largest magnitude of a group to the largest value of the format.
class ScaledCodec final : public Codec {
 public:
  explicit ScaledCodec(std::shared_ptr<const Codec> element)
      : element_(std::move(element)), largest_(element_->properties().largest) {}
  const std::shared_ptr<const Codec>& element() const { return element_; }
  double largest() const { return largest_; }

  Properties properties() const override { return element_->properties(); }
  int bits() const override { return element_->bits(); }
  std::vector<Field> fields(std::int64_t size) const override;
  void choose(std::span<const float> values, Words words) const override;
  // The word of the scale for the largest magnitude of a group.
  std::uint32_t chosen(float magnitude) const;
  Result<void> choose_from_range(Range range, Words words) const override;
  void settle(Words all, std::int64_t stride) const override;
  Result<void> check(ConstWords words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Range range(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  void set_neutral(Words words) const override;
  Rounding rounding(Rounding asked) const override { return element_->rounding(asked); }

 private:
  std::shared_ptr<const Codec> element_;
  double largest_;
};

// The codec of a format for these groups. `values` has every parameter.
Result<std::shared_ptr<const Codec>> codec_of(const Descriptor& format, const Values& values,
                                              const GroupingOptions& grouping);

}  // namespace anybit::formats
