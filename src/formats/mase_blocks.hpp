// Block formats under `profile=mase`: how a block's exponent or bias is chosen, and how its values are
// rounded. Values, codes and fields are those of the base; a bias is a number without sign.
#pragma once

#include "formats/block_fp.hpp"
#include "formats/block_log.hpp"
#include "formats/block_minifloat.hpp"

namespace anybit::formats {

class MaseBlockCodec : public Codec {
 public:
  explicit MaseBlockCodec(std::shared_ptr<const Codec> base) : base_(std::move(base)) {}
  const Codec& base() const { return *base_; }

  int bits() const override { return base_->bits(); }
  void choose(std::span<const float> values, Words words) const override;
  Result<void> choose_from_range(Range range, Words words) const override;
  void encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const override;
  void decode(std::span<const Code16> codes, ConstWords words, float* values) const override;
  void quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const override;
  Range range(ConstWords words) const override { return base_->range(words); }
  std::optional<Ungrouped> ungrouped(ConstWords words) const override;
  bool local() const override { return true; }
  Rounding rounding(Rounding) const override { return Rounding::half_even; }

 protected:
  // The word of a block with this finite largest magnitude.
  virtual int word_for(float largest) const = 0;
  // The value that a finite x is quantized to, in a block with this word.
  virtual double value_of(float x, int word) const = 0;
  // Whether quantize() returns tiny magnitudes as they are.
  virtual bool passing() const { return true; }

 private:
  float rounded(float x, int word) const;

  std::shared_ptr<const Codec> base_;
};

class MaseBlockFpCodec final : public MaseBlockCodec {
 public:
  explicit MaseBlockFpCodec(BlockFpLayout layout)
      : MaseBlockCodec(std::make_shared<const BlockFpCodec>(layout)), layout_(layout) {}
  const BlockFpLayout& layout() const { return layout_; }

  Properties properties() const override { return base().properties(); }
  std::vector<Field> fields(std::int64_t size) const override { return base().fields(size); }
  Result<void> check(ConstWords words) const override { return base().check(words); }
  std::optional<Scaled> scaled(ConstWords words) const override { return base().scaled(words); }
  void set_neutral(Words words) const override { base().set_neutral(words); }

 private:
  int word_for(float largest) const override;
  double value_of(float x, int word) const override;

  BlockFpLayout layout_;
};

// A block whose word is a bias of bias_width bits without sign.
class MaseBiasCodec : public MaseBlockCodec {
 public:
  MaseBiasCodec(std::shared_ptr<const Codec> base, int bias_width)
      : MaseBlockCodec(std::move(base)), bias_width_(bias_width) {}
  int highest_bias() const { return (1 << bias_width_) - 1; }

  Properties properties() const override;
  std::vector<Field> fields(std::int64_t size) const override;
  Result<void> check(ConstWords words) const override;
  std::optional<Scaled> scaled(ConstWords words) const override;
  void set_neutral(Words words) const override { words[0] = word_of(kNeutral); }

 private:
  // Of the biases 0 to 255 the one from which the factors of all others are float32 numbers.
  static constexpr int kNeutral = 127;

  int bias_width_;
};

class MaseBlockMinifloatCodec final : public MaseBiasCodec {
 public:
  MaseBlockMinifloatCodec(int exponent_bits, int mantissa_bits, int bias_width)
      : MaseBiasCodec(std::make_shared<const BlockMinifloatCodec>(exponent_bits, mantissa_bits, bias_width),
                      bias_width),
        exponent_bits_(exponent_bits),
        mantissa_bits_(mantissa_bits) {}
  int exponent_bits() const { return exponent_bits_; }
  int mantissa_bits() const { return mantissa_bits_; }

 private:
  int word_for(float largest) const override;
  double value_of(float x, int word) const override;

  int exponent_bits_, mantissa_bits_;
};

class MaseBlockLogCodec final : public MaseBiasCodec {
 public:
  MaseBlockLogCodec(int width, int bias_width)
      : MaseBiasCodec(std::make_shared<const BlockLogCodec>(width, bias_width, false), bias_width),
        highest_code_((1 << (width - 1)) - 1) {}
  int highest_code() const { return highest_code_; }

  // A block of zeros takes the bias of the block with the smallest maximum.
  void choose(std::span<const float> values, Words words) const override;
  void settle(Words all, std::int64_t stride) const override;
  bool local() const override { return false; }

 private:
  int word_for(float largest) const override;
  double value_of(float x, int word) const override;
  bool passing() const override { return false; }

  int highest_code_;
};

}  // namespace anybit::formats
