// Block logarithmic: powers of two whose range follows the block maximum; docs/formats.md#block_log.
#include "formats/block_log.hpp"

#include <algorithm>
#include <cmath>

#include "formats/block.hpp"
#include "formats/mase.hpp"
#include "formats/mase_blocks.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

// round(log2 |x|): rounds up from √2 on. The float32 nearest to √2, 0xB504F3, is still below it.
int rounded_log2(float x) { return exponent_of(x) + (significand_of(x) >= 0x00B504F4u ? 1 : 0); }

Result<std::shared_ptr<const Codec>> make_custom(const Values& values) {
  const int width = integer(values, "width"), bias_width = integer(values, "exponent_bias_width");
  const bool with_zero = flag(values, "with_zero");
  if (!mase::is_mase(values)) return std::make_shared<const BlockLogCodec>(width, bias_width, with_zero);
  if (with_zero) return mase::no_zero();
  return std::make_shared<const MaseBlockLogCodec>(width, bias_width);
}

}  // namespace

int BlockLogCodec::bias_for(float largest) const {
  if (largest == 0) return highest_bias();
  const int top = std::min(rounded_log2(largest), 127);  // float32 has no 2^128
  return std::clamp(highest_code() - top, lowest_bias(), highest_bias());
}

Properties BlockLogCodec::properties() const {
  const double largest = std::ldexp(1, highest_code() - lowest_bias());
  return {.bits = width_,
          .largest = largest,
          .lowest = -largest,
          .smallest = std::ldexp(1, (with_zero_ ? 1 : 0) - highest_bias()),
          .zero = with_zero_,
          .negative_zero = with_zero_,
          .layout = "s " + std::string(static_cast<std::size_t>(width_ - 1), 'e')};
}

std::vector<Field> BlockLogCodec::fields(std::int64_t) const {
  return {{.name = "exponent_bias",
           .store = Field::Store::uint8,
           .stored_bits = bias_width_,
           .bias = -lowest_bias()}};
}

void BlockLogCodec::choose(std::span<const float> values, Words words) const {
  words[0] = word_of(bias_for(saturated_maximum(values)));
}

Result<void> BlockLogCodec::choose_from_range(Range range, Words words) const {
  return choose_from_ends(*this, range, words);
}

Result<void> BlockLogCodec::check(ConstWords words) const {
  return check_exponent(exponent_in(words[0]), lowest_bias(), highest_bias());
}

int BlockLogCodec::code_of(float x, int bias) const {
  if (is_nan(x) || x == 0) return 0;
  if (!is_finite(x)) return highest_code();
  if (with_zero_ && exponent_of(x) < -bias) return 0;
  return std::clamp(rounded_log2(x) + bias, with_zero_ ? 1 : 0, highest_code());
}

void BlockLogCodec::encode(std::span<const float> values, ConstWords words, Draw, Code16* codes) const {
  const int bias = exponent_in(words[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    // Without zero, ±0 becomes +2^-bias; NaN has no sign to keep.
    const bool negative = is_negative(x) && !is_nan(x) && (with_zero_ || x != 0);
    codes[i] = static_cast<Code16>(code_of(x, bias) | (negative ? 1 << (width_ - 1) : 0));
  }
}

void BlockLogCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const int bias = exponent_in(words[0]);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int code = codes[i] & highest_code();
    const float magnitude = with_zero_ && code == 0 ? 0 : nearest_finite_float(std::ldexp(1, code - bias));
    values[i] = ((codes[i] >> (width_ - 1)) & 1) != 0 ? -magnitude : magnitude;
  }
}

Range BlockLogCodec::range(ConstWords words) const {
  const float largest = nearest_finite_float(std::ldexp(1, highest_code() - exponent_in(words[0])));
  return {-largest, largest};
}

std::optional<Scaled> BlockLogCodec::scaled(ConstWords words) const {
  return Scaled{std::ldexp(1.0f, -exponent_in(words[0]))};
}

void BlockLogCodec::set_neutral(Words words) const { words[0] = word_of(0); }

std::optional<Ungrouped> BlockLogCodec::ungrouped(ConstWords words) const {
  return Ungrouped{.format = "log",
                   .parameters = {{"width", std::int64_t{width_}},
                                  {"exponent_bias", std::to_string(exponent_in(words[0]))},
                                  {"with_zero", with_zero_}}};
}

std::span<const Descriptor> block_log_descriptors() {
  static const Descriptor all[] = {
      {.name = "block_log",
       .family = "block_log",
       .summary = "powers of two, shared exponent bias that gives the block maximum the top code",
       // Wider codes would exceed float32 for every bias.
       .parameters = {{"width", std::int64_t{8}, "bits per element, including the sign", 2, 8},
                      {"exponent_bias_width", std::int64_t{8}, "bits of the shared bias, a signed integer", 1,
                       8},
                      {"with_zero", false, "the lowest code is zero"},
                      mase::profile_parameter()},
       .granularity = Granularity::block,
       .block_size = 16,
       .make = make_custom},
  };
  return all;
}

}  // namespace anybit::formats
