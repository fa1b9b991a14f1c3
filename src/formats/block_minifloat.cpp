// Block minifloats: minifloats whose bias follows the block maximum; docs/formats.md#block_minifloat.
#include "formats/block_minifloat.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "formats/block.hpp"
#include "formats/mase.hpp"
#include "formats/mase_blocks.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

Result<std::shared_ptr<const Codec>> make_custom(const Values& values) {
  const int width = integer(values, "width"), exponent_bits = integer(values, "exponent_width");
  if (exponent_bits > width - 1) {
    return invalid_argument(
        fmt::format("no block minifloat of {} bits with {} exponent bits", width, exponent_bits),
        "exponent_width at most width - 1 (one bit is the sign)");
  }
  const int mantissa_bits = width - exponent_bits - 1, bias_width = integer(values, "exponent_bias_width");
  if (!mase::is_mase(values))
    return std::make_shared<const BlockMinifloatCodec>(exponent_bits, mantissa_bits, bias_width);
  if (exponent_bits > 7)
    return invalid_argument("profile mase: the largest values would exceed float32",
                            "exponent_width at most 7");
  return std::make_shared<const MaseBlockMinifloatCodec>(exponent_bits, mantissa_bits, bias_width);
}

}  // namespace

int BlockMinifloatCodec::bias_for(float largest) const {
  if (largest == 0) return highest_bias();
  return std::clamp((1 << exponent_bits_) - 1 - exponent_of(largest), lowest_bias(), highest_bias());
}

Properties BlockMinifloatCodec::properties() const {
  Properties all = MinifloatCodec(layout(lowest_bias()), true).properties();
  all.smallest = layout(highest_bias()).smallest();
  return all;
}

std::vector<Field> BlockMinifloatCodec::fields(std::int64_t) const {
  return {{.name = "exponent_bias",
           .store = Field::Store::uint8,
           .stored_bits = bias_width_,
           .bias = -lowest_bias()}};
}

void BlockMinifloatCodec::choose(std::span<const float> values, Words words) const {
  words[0] = word_of(bias_for(saturated_maximum(values)));
}

Result<void> BlockMinifloatCodec::choose_from_range(Range range, Words words) const {
  return choose_from_ends(*this, range, words);
}

Result<void> BlockMinifloatCodec::check(ConstWords words) const {
  return check_exponent(exponent_in(words[0]), lowest_bias(), highest_bias());
}

void BlockMinifloatCodec::encode(std::span<const float> values, ConstWords words, Draw draw,
                                 Code16* codes) const {
  MinifloatCodec(layout(exponent_in(words[0])), true).encode(values, {}, draw, codes);
}

void BlockMinifloatCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const MinifloatLayout shared = layout(exponent_in(words[0]));
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto unsigned_code = static_cast<Code16>(codes[i] & (shared.sign_bit() - 1));
    const float magnitude = nearest_finite_float(shared.magnitude(unsigned_code));
    values[i] = (codes[i] & shared.sign_bit()) != 0 ? -magnitude : magnitude;
  }
}

Range BlockMinifloatCodec::range(ConstWords words) const {
  const float largest = nearest_finite_float(layout(exponent_in(words[0])).largest());
  return {-largest, largest};
}

std::optional<Scaled> BlockMinifloatCodec::scaled(ConstWords words) const {
  return Scaled{std::ldexp(1.0f, neutral_bias() - exponent_in(words[0]))};
}

void BlockMinifloatCodec::set_neutral(Words words) const { words[0] = word_of(neutral_bias()); }

std::optional<Ungrouped> BlockMinifloatCodec::ungrouped(ConstWords words) const {
  return Ungrouped{.format = "minifloat_ieee",
                   .parameters = {{"width", std::int64_t{bits()}},
                                  {"exponent_width", std::int64_t{exponent_bits_}},
                                  {"exponent_bias", std::to_string(exponent_in(words[0]))}}};
}

std::span<const Descriptor> block_minifloat_descriptors() {
  static const Descriptor all[] = {
      {.name = "block_minifloat",
       .family = "block_minifloat",
       .summary = "minifloats, shared exponent bias that puts the block maximum into the top binade",
       .parameters = {{"width", std::int64_t{8}, "bits per element", 2, 16},
                      {"exponent_width", std::int64_t{4}, "bits of an element's exponent", 1, 8},
                      {"exponent_bias_width", std::int64_t{8}, "bits of the shared bias, a signed integer", 1,
                       8},
                      mase::profile_parameter()},
       .granularity = Granularity::block,
       .block_size = 16,
       .make = make_custom},
  };
  return all;
}

}  // namespace anybit::formats
