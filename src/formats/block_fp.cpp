// Block floating point: custom widths, and bfp16; docs/formats.md#block_fp.
#include "formats/block_fp.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/sign_magnitude.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr std::string_view kRules[] = {"fit", "clip", "floor", "fit_positive"};  // in the order of Rule

// The values of parameters that are "auto".
struct Profile {
  std::string_view name, exponent_rule, nonfinite;
};
constexpr Profile kProfiles[] = {{"plain", "fit", "saturate"},
                                 {"quark", "floor", "element"},
                                 {"quark_compiler", "fit_positive", "element"}};

// The parameters of a block_fp format that do not concern the widths.
std::vector<Parameter> policies(std::vector<Parameter> widths = {}) {
  widths.push_back(
      {"profile",
       std::string("plain"),
       "implementation that sets the parameters that are auto; quark: AMD's BFPQuantizeDequantize; "
       "quark_compiler: with use_compiler_version_cpu_kernel",
       0,
       0,
       {"plain", "quark", "quark_compiler"}});
  widths.push_back(
      {"exponent_rule",
       std::string("auto"),
       "fit: the smallest exponent for which the rounded maximum fits; clip: ceil(log2(maximum)); "
       "floor: floor(log2(maximum)) + 1; fit_positive: fit for positive values only (not packable)",
       0,
       0,
       {"auto", "fit", "clip", "floor", "fit_positive"}});
  widths.push_back(
      {"nonfinite",
       std::string("auto"),
       "saturate: Inf is the largest value, NaN zero; element: they stay as they are (not packable)",
       0,
       0,
       {"auto", "saturate", "element"}});
  return widths;
}

BlockFpLayout with_policies(BlockFpLayout layout, const Values& values) {
  const auto* profile = std::ranges::find(kProfiles, word(values, "profile"), &Profile::name);
  const auto given = [&](std::string_view name, std::string_view automatic) {
    const std::string_view one = word(values, name);
    return one == "auto" ? automatic : one;
  };
  const auto* rule = std::ranges::find(kRules, given("exponent_rule", profile->exponent_rule));
  layout.rule = static_cast<BlockFpLayout::Rule>(rule - kRules);
  layout.quark = given("nonfinite", profile->nonfinite) == "element";
  return layout;
}

// E = 128 is fine: 2^128 * M / 2^(width-1) stays below 2^128.
Result<void> check_layout(const BlockFpLayout& layout) {
  const int smallest = layout.lowest_exponent() - layout.magnitude_bits();
  if (smallest >= -149 && layout.highest_exponent() <= 128) return {};
  return invalid_argument(fmt::format("exponents {} to {} of a block of {}-bit values do not fit float32",
                                      layout.lowest_exponent(), layout.highest_exponent(), layout.width),
                          fmt::format("exponent_bias from {} to {}, or a smaller exponent_width",
                                      (1 << layout.exponent_width) - 129, 149 - layout.magnitude_bits()));
}

Result<std::shared_ptr<const Codec>> make_custom(const Values& values) {
  const int exponent_width = integer(values, "exponent_width");
  const int bias = TRY(integer_or_auto(values, "exponent_bias", (1 << (exponent_width - 1)) - 1));
  if (bias < -1000 || bias > 1000) {
    return invalid_argument(fmt::format("exponent_bias = {} is out of range", bias), "-1000 to 1000");
  }
  const BlockFpLayout layout = with_policies({integer(values, "width"), exponent_width, bias}, values);
  TRY(check_layout(layout));
  return std::make_shared<const BlockFpCodec>(layout);
}

Result<std::shared_ptr<const Codec>> make_bfp16(const Values& values) {
  return std::make_shared<const BlockFpCodec>(with_policies({8, 8, 127}, values));
}

}  // namespace

Properties BlockFpCodec::properties() const {
  const double largest =
      std::ldexp(layout_.largest_magnitude(), layout_.highest_exponent() - layout_.magnitude_bits());
  return {.bits = layout_.width,
          .largest = largest,
          .lowest = -largest,
          .smallest = std::ldexp(1, layout_.lowest_exponent() - layout_.magnitude_bits()),
          .zero = true,
          .negative_zero = true,
          .layout = "s " + std::string(static_cast<std::size_t>(layout_.magnitude_bits()), 'm')};
}

std::vector<Field> BlockFpCodec::fields(std::int64_t) const {
  return {{.name = "exponent",
           .store = Field::Store::uint8,
           .stored_bits = layout_.exponent_width,
           .bias = layout_.exponent_bias}};
}

void BlockFpCodec::choose(std::span<const float> values, Words words) const {
  const float largest = layout_.quark ? float_of(largest_finite_bits(values)) : saturated_maximum(values);
  float positive = 0;
  for (const float x : values) {
    if (is_finite(x)) positive = std::max(positive, x);
  }
  words[0] = word_of(exponent_for(largest, positive));
}

Result<void> BlockFpCodec::choose_from_range(Range range, Words words) const {
  return choose_from_ends(*this, range, words);
}

Result<void> BlockFpCodec::check(ConstWords words) const {
  const int beyond = layout_.rule == BlockFpLayout::Rule::fit_positive ? 1 : 0;
  return check_exponent(exponent_in(words[0]), layout_.lowest_exponent(),
                        layout_.highest_exponent() + beyond);
}

void BlockFpCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const int exponent = exponent_in(words[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = encode_sign_magnitude(values[i], layout_.magnitude_bits(), exponent, draw.rounding,
                                     draw.noise ? draw.noise[i] : 0);
  }
}

std::optional<Scaled> BlockFpCodec::scaled(ConstWords words) const {
  return Scaled{std::ldexp(1.0f, exponent_in(words[0]))};
}

void BlockFpCodec::set_neutral(Words words) const { words[0] = word_of(0); }

void BlockFpCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const int exponent = exponent_in(words[0]);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = decode_sign_magnitude(codes[i], layout_.magnitude_bits(), exponent);
  }
}

void BlockFpCodec::quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const {
  if (!layout_.quark) {
    Codec::quantize(values, words, draw, out);
    return;
  }
  const QuarkInteger integer{layout_.step(exponent_in(words[0])), 1,
                             static_cast<double>(layout_.lowest_integer()),
                             static_cast<double>(layout_.largest_magnitude())};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t noise = draw.noise ? draw.noise[i] : 0;
    out[i] = is_finite(values[i]) ? integer(values[i], draw.rounding, noise) : values[i];
  }
}

Result<void> BlockFpCodec::packable() const {
  if (layout_.quark)
    return invalid_argument("Inf and NaN kept as elements of a block have no codes and cannot be packed",
                            "nonfinite: saturate");
  if (layout_.rule == BlockFpLayout::Rule::fit_positive)
    return invalid_argument("the lowest value of exponent_rule fit_positive has no code and cannot be packed",
                            "exponent_rule: fit, clip or floor");
  return {};
}

Range BlockFpCodec::range(ConstWords words) const {
  const float largest = decode_sign_magnitude(static_cast<Code16>(layout_.largest_magnitude()),
                                              layout_.magnitude_bits(), exponent_in(words[0]));
  return {-largest, largest};
}

std::optional<Ungrouped> BlockFpCodec::ungrouped(ConstWords words) const {
  const int largest = layout_.largest_magnitude();
  return Ungrouped{
      .low = -largest, .high = largest, .exponent = exponent_in(words[0]) - layout_.magnitude_bits()};
}

std::span<const Descriptor> block_fp_descriptors() {
  static const Descriptor all[] = {
      {.name = "block_fp",
       .family = "block_fp",
       .summary = "block floating point: sign and fraction, shared exponent, custom widths",
       .parameters = policies(
           {{"width", std::int64_t{8}, "bits per element, including the sign", 2, 16},
            {"exponent_width", std::int64_t{8}, "bits of the shared exponent", 1, 8},
            {"exponent_bias", std::string("auto"), "bias of the exponent; auto: 2^(exponent_width-1) - 1"}}),
       .granularity = Granularity::block,
       .block_size = 16,
       .make = make_custom},
      {.name = "bfp16",
       .family = "block_fp",
       .summary = "block floating point: sign and 7-bit fraction, an 8-bit exponent per 8 values",
       .parameters = policies(),
       .granularity = Granularity::block,
       .block_size = 8,
       .make = make_bfp16},
  };
  return all;
}

}  // namespace anybit::formats
