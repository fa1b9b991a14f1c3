// OCP Microscaling formats (OCP MX specification 1.0). Parameters cover the differences between
// implementations; docs/formats.md#mx.
#include "formats/mx.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/block.hpp"
#include "formats/quark.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr int kFractionBits = 6;  // of an int8 element
constexpr int kScaleBias = 127;   // E8M0

constexpr std::string_view kScaleRules[] = {"floor", "ceil", "even"};
constexpr std::string_view kScaleOverflows[] = {"clamp", "nan", "unclamped"};
constexpr std::string_view kNonfinites[] = {"block", "element"};
constexpr std::string_view kProfiles[] = {"ocp", "quark", "microxcaling"};
constexpr Rounding kRoundingModes[] = {Rounding::half_away, Rounding::half_up, Rounding::half_even};

// The values of parameters that are "auto", by profile.
struct Profile {
  std::string_view scale_overflow, nonfinite, symmetric, rounding_applies_to_all;
  Rounding rounding;
};
constexpr Profile kProfileValues[] = {
    {"clamp", "block", "false", "false", Rounding::half_even},
    {"unclamped", "element", "false", "false", Rounding::half_even},
    {"nan", "block", "true", "true", Rounding::half_away},
};

std::size_t index_in(std::span<const std::string_view> choices, std::string_view one) {
  return static_cast<std::size_t>(std::find(choices.begin(), choices.end(), one) - choices.begin());
}

std::string_view given_or(const Values& values, std::string_view name, std::string_view automatic) {
  const std::string_view given = word(values, name);
  return given == "auto" ? automatic : given;
}

std::optional<Rounding> fixed_rounding(int mode, bool integer, bool applies_to_all) {
  if (mode < 0) return std::nullopt;
  return integer || applies_to_all ? kRoundingModes[mode] : Rounding::half_even;
}

Result<MxOptions> options_from(const Values& values, bool integer) {
  const std::string_view name = word(values, "profile");
  const Profile& profile = kProfileValues[index_in(kProfiles, name)];
  const int mode = TRY(integer_or_auto(values, "rounding_mode", -1));
  const auto named = [&](std::span<const std::string_view> choices, std::string_view name,
                         std::string_view automatic) {
    return index_in(choices, given_or(values, name, automatic));
  };
  const auto nonfinite = static_cast<Nonfinite>(named(kNonfinites, "nonfinite", profile.nonfinite));
  const bool applies_to_all =
      given_or(values, "rounding_applies_to_all", profile.rounding_applies_to_all) == "true";
  return MxOptions{.scale_rule = static_cast<ScaleRule>(index_in(kScaleRules, word(values, "scale_rule"))),
                   .scale_overflow = static_cast<ScaleOverflow>(
                       named(kScaleOverflows, "scale_overflow", profile.scale_overflow)),
                   .nonfinite = nonfinite,
                   .symmetric = given_or(values, "symmetric", profile.symmetric) == "true",
                   .quark = name == "quark" && nonfinite == Nonfinite::element,
                   .rounding = fixed_rounding(mode, integer, applies_to_all),
                   .usual = integer || applies_to_all ? profile.rounding : Rounding::half_even};
}

// A parameter whose default comes from the profile.
Parameter automatic(std::string_view name, std::string_view doc, std::vector<std::string_view> choices) {
  choices.insert(choices.begin(), "auto");
  return {name, std::string("auto"), doc, 0, 0, std::move(choices)};
}

std::vector<Parameter> parameters() {
  return {
      {"profile",
       std::string("ocp"),
       "implementation that sets the parameters that are auto",
       0,
       0,
       {std::begin(kProfiles), std::end(kProfiles)}},
      {"scale_rule",
       std::string("floor"),
       "power of two for the block maximum: floor, ceil, or even: floor after the maximum is rounded to "
       "the element's mantissa",
       0,
       0,
       {std::begin(kScaleRules), std::end(kScaleRules)}},
      automatic("rounding_mode", "0: half away, 1: half up, 2: half even (int8 elements), -1: as asked",
                {"-1", "0", "1", "2"}),
      automatic("rounding_applies_to_all", "rounding_mode also applies to float elements", {"true", "false"}),
      automatic("nonfinite",
                "block: Inf or NaN makes the whole block NaN; element: it stays as it is (not packable)",
                {std::begin(kNonfinites), std::end(kNonfinites)}),
      automatic("scale_overflow",
                "exponents outside E8M0: clamp to the nearest; nan if above; unclamped: kept if below (not "
                "packable)",
                {std::begin(kScaleOverflows), std::end(kScaleOverflows)}),
      automatic("symmetric", "int8 elements are -127 to 127", {"true", "false"}),
  };
}

Descriptor named(std::string_view name, MxElement element, std::string_view summary) {
  return {.name = name,
          .family = "mx",
          .summary = summary,
          .parameters = parameters(),
          .granularity = Granularity::block,
          .block_size = 32,
          .make = [element](const Values& values) -> Result<std::shared_ptr<const Codec>> {
            return std::make_shared<const MxCodec>(element, TRY(options_from(values, element.integer)));
          }};
}

}  // namespace

Properties MxCodec::properties() const {
  if (element_.integer) {
    return {.bits = 8,
            .largest = std::ldexp(127, kHighestExponent - kFractionBits),
            .lowest = std::ldexp(lowest_integer(), kHighestExponent - kFractionBits),
            .smallest = std::ldexp(1, kLowestExponent - kFractionBits),
            .zero = true,
            .nan = true,
            .layout = "si ffffff"};
  }
  Properties all = MinifloatCodec(element_.layout, true).properties();
  all.largest = std::ldexp(all.largest, kHighestExponent);
  all.lowest = -all.largest;
  all.smallest = std::ldexp(all.smallest, kLowestExponent);
  all.nan = true;  // the scale has one
  return all;
}

std::vector<Field> MxCodec::fields(std::int64_t) const {
  return {{.name = "exponent", .store = Field::Store::uint8, .stored_bits = 8, .bias = kScaleBias}};
}

void MxCodec::choose(std::span<const float> values, Words words) const {
  const bool by_element = options_.nonfinite == Nonfinite::element;
  const std::uint32_t largest = by_element ? largest_finite_bits(values) : largest_bits(values);
  words[0] = word_of(largest >= kInfinityBits ? kNanExponent : exponent_for(float_of(largest)));
}

Result<void> MxCodec::choose_from_range(Range range, Words words) const {
  return choose_from_ends(*this, range, words);
}

Result<void> MxCodec::check(ConstWords words) const {
  return check_exponent(exponent_in(words[0]), lowest_exponent(), kNanExponent);
}

// A float element times 2^E is a float of the same layout with another bias: no scaling, no double rounding.
Code16 MxCodec::encode_one(float x, int exponent, Rounding rounding, std::uint32_t noise) const {
  if (!element_.integer) {
    MinifloatLayout scaled = element_.layout;
    scaled.bias -= exponent;
    return scaled.encode(x, true, rounding, noise);
  }
  if (is_nan(x)) return 0;
  const double units = std::ldexp(static_cast<double>(x), kFractionBits - exponent);
  const double code = std::clamp<double>(round_to_integer(units, rounding, noise), lowest_integer(), 127);
  return static_cast<std::uint8_t>(static_cast<int>(code));
}

float MxCodec::decode_one(Code16 code, int exponent) const {
  if (element_.integer) {
    return nearest_finite_float(std::ldexp(static_cast<std::int8_t>(code), exponent - kFractionBits));
  }
  const auto unsigned_code = static_cast<Code16>(code & (element_.layout.sign_bit() - 1));
  if (unsigned_code > element_.layout.largest_code()) return element_.layout.decode(code);  // Inf, NaN
  const float magnitude =
      nearest_finite_float(std::ldexp(element_.layout.magnitude(unsigned_code), exponent));
  return (code & element_.layout.sign_bit()) != 0 ? -magnitude : magnitude;
}

void MxCodec::encode(std::span<const float> values, ConstWords words, Draw draw, Code16* codes) const {
  const int exponent = exponent_in(words[0]);
  if (exponent == kNanExponent) {
    std::fill_n(codes, values.size(), Code16{0});
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = encode_one(values[i], exponent, draw.rounding, draw.noise ? draw.noise[i] : 0);
  }
}

std::optional<Scaled> MxCodec::scaled(ConstWords words) const {
  const int exponent = exponent_in(words[0]);
  return Scaled{exponent == kNanExponent ? kNan : std::ldexp(1.0f, exponent)};
}

void MxCodec::set_neutral(Words words) const { words[0] = word_of(0); }

void MxCodec::decode(std::span<const Code16> codes, ConstWords words, float* values) const {
  const int exponent = exponent_in(words[0]);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = exponent == kNanExponent ? kNan : decode_one(codes[i], exponent);
  }
}

// Float elements never give a negative zero; the lowest integer times the largest scale is infinite.
float MxCodec::quark_one(float x, int exponent, Rounding rounding, std::uint32_t noise) const {
  if (!element_.integer) {
    const Code16 code = encode_one(x, exponent, rounding, noise);
    return (code & (element_.layout.sign_bit() - 1)) == 0 ? 0 : decode_one(code, exponent);
  }
  const QuarkInteger integer{wide_power_of_two(exponent), 1 << kFractionBits,
                             static_cast<double>(lowest_integer()), 127};
  return integer(x, rounding, noise);
}

void MxCodec::quantize(std::span<const float> values, ConstWords words, Draw draw, float* out) const {
  if (options_.nonfinite == Nonfinite::block) {
    Codec::quantize(values, words, draw, out);
    return;
  }
  const int exponent = exponent_in(words[0]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_finite(values[i])) {
      out[i] = values[i];
    } else if (exponent == kNanExponent) {
      out[i] = kNan;
    } else if (options_.quark) {
      out[i] = quark_one(values[i], exponent, draw.rounding, draw.noise ? draw.noise[i] : 0);
    } else {
      const Code16 code = encode_one(values[i], exponent, draw.rounding, draw.noise ? draw.noise[i] : 0);
      out[i] = decode_one(code, exponent);
    }
  }
}

Range MxCodec::range(ConstWords words) const {
  const int exponent = exponent_in(words[0]);
  if (exponent == kNanExponent) return {kNan, kNan};
  if (element_.integer) {
    return {decode_one(static_cast<std::uint8_t>(lowest_integer()), exponent), decode_one(127, exponent)};
  }
  const float largest = decode_one(element_.layout.largest_code(), exponent);
  return {-largest, largest};
}

Result<void> MxCodec::packable() const {
  if (options_.nonfinite == Nonfinite::element) {
    return invalid_argument("Inf and NaN kept as elements of a block have no codes and cannot be packed",
                            "nonfinite: block (profile ocp or microxcaling)");
  }
  if (options_.scale_overflow == ScaleOverflow::unclamped) {
    return invalid_argument("a scale that is not clamped may have no E8M0 code and cannot be packed",
                            "scale_overflow: clamp (profile ocp) or nan");
  }
  return {};
}

std::optional<Ungrouped> MxCodec::ungrouped(ConstWords words) const {
  const int exponent = exponent_in(words[0]);
  if (element_.integer)
    return Ungrouped{.low = lowest_integer(), .high = 127, .exponent = exponent - kFractionBits};
  return Ungrouped{.format = element_.format, .factor = static_cast<float>(std::ldexp(1.0, exponent))};
}

std::span<const Descriptor> mx_descriptors() {
  static const Descriptor all[] = {
      named("mxfp8_e5m2", {false, kE5m2, "fp8_e5m2"}, "OCP MX: blocks of 8-bit floats, wider range"),
      named("mxfp8_e4m3", {false, kE4m3, "fp8_e4m3"}, "OCP MX: blocks of 8-bit floats, finer steps"),
      named("mxfp6_e3m2", {false, kE3m2, "fp6_e3m2"}, "OCP MX: blocks of 6-bit floats, wider range"),
      named("mxfp6_e2m3", {false, kE2m3, "fp6_e2m3"}, "OCP MX: blocks of 6-bit floats, finer steps"),
      named("mxfp4_e2m1", {false, kE2m1, "fp4_e2m1"}, "OCP MX: blocks of 4-bit floats"),
      named("mxint8", {true, {}}, "OCP MX: blocks of 8-bit integers"),
  };
  return all;
}

}  // namespace anybit::formats
