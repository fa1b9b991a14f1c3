// Minifloats: sign, exponent, mantissa; docs/formats.md#minifloat. Works on the bits of float32, without log2
// and pow, so that powers of two are exact.
#include "formats/minifloat.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "formats/mase.hpp"
#include "formats/mase_codec.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

constexpr std::string_view kFlavours[] = {"inf", "fn", "fnuz", "finite"};

const Parameter kSaturate{"saturate", true,
                          "overflow becomes the largest value; false: Inf, or NaN if there is no Inf"};

Descriptor named(std::string_view name, MinifloatLayout layout, std::string_view summary,
                 std::string_view float_type, std::vector<std::string_view> other_names) {
  return {.name = name,
          .family = "minifloat",
          .summary = summary,
          .parameters = {kSaturate},
          .float_type = float_type,
          .other_names = std::move(other_names),
          .make = [layout](const Values& values) -> Result<std::shared_ptr<const Codec>> {
            return std::make_shared<const MinifloatCodec>(layout, flag(values, "saturate"));
          }};
}

Flavour flavour_named(std::string_view name) {
  return static_cast<Flavour>(std::find(std::begin(kFlavours), std::end(kFlavours), name) -
                              std::begin(kFlavours));
}

Result<std::shared_ptr<const Codec>> make_custom(const Values& values, Flavour flavour, bool saturate) {
  const int width = integer(values, "width"), exponent_bits = integer(values, "exponent_width");
  const int preset_bias = (1 << (exponent_bits - 1)) - 1 + (flavour == Flavour::fnuz ? 1 : 0);
  const int bias = TRY(integer_or_auto(values, "exponent_bias", preset_bias));
  const MinifloatLayout layout{exponent_bits, width - exponent_bits - 1, bias, flavour};
  TRY(check(layout));
  return std::make_shared<const MinifloatCodec>(layout, saturate);
}

Result<std::shared_ptr<const Codec>> make_ieee(const Values& values) {
  auto codec = TRY(make_custom(values, Flavour::finite, true));
  if (!mase::is_mase(values)) return codec;
  const MinifloatLayout& layout = dynamic_cast<const MinifloatCodec&>(*codec).layout();
  // The exponent of the lowest code means subnormals.
  const mase::Float format{layout.mantissa_bits, -layout.bias, (1 << layout.exponent_bits) - 1 - layout.bias};
  const auto rule = [format](float x) { return mase::minifloat(x, format); };
  return std::make_shared<const MaseCodec>(std::move(codec), true, rule);
}

const Parameter kWidth{"width", std::int64_t{8}, "total bits", 2, 16};
const Parameter kExponentWidth{"exponent_width", std::int64_t{4}, "bits of the exponent", 1, 8};
const Parameter kExponentBias{"exponent_bias", std::string("auto"),
                              "bias of the exponent; auto: 2^(exponent_width-1) - 1"};

}  // namespace

Code16 MinifloatLayout::largest_code() const {
  const int all_ones = sign_bit() - 1;
  switch (flavour) {
    case Flavour::inf:
      return static_cast<Code16>(all_ones - (1 << mantissa_bits));
    case Flavour::fn:
      return static_cast<Code16>(all_ones - 1);
    case Flavour::fnuz:
    case Flavour::finite:
      break;
  }
  return static_cast<Code16>(all_ones);
}

int MinifloatLayout::largest_exponent() const { return std::ilogb(largest()); }

Code16 MinifloatLayout::nan_code() const {
  const int all_ones = sign_bit() - 1;
  switch (flavour) {
    case Flavour::inf:
      return static_cast<Code16>(all_ones - (1 << mantissa_bits) + 1 + (1 << (mantissa_bits - 1)));
    case Flavour::fn:
      return static_cast<Code16>(all_ones);
    case Flavour::fnuz:
      return sign_bit();
    case Flavour::finite:
      break;
  }
  return 0;
}

Code16 MinifloatLayout::overflow_code(bool saturate) const {
  if (saturate || flavour == Flavour::finite) return largest_code();
  return flavour == Flavour::inf ? static_cast<Code16>(largest_code() + 1) : nan_code();
}

double MinifloatLayout::magnitude(Code16 code) const {
  const int exponent = code >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int hidden = exponent == 0 ? 0 : 1 << mantissa_bits;
  return (mantissa + hidden) * wide_power_of_two(std::max(exponent, 1) - bias - mantissa_bits);
}

Code16 MinifloatLayout::encode(float x, bool saturate, Rounding rounding, std::uint32_t noise) const {
  if (is_nan(x))
    return static_cast<Code16>(nan_code() | (flavour == Flavour::inf && is_negative(x) ? sign_bit() : 0));
  const Code16 sign = is_negative(x) ? sign_bit() : Code16{0};
  Code16 code = overflow_code(saturate);
  if (is_finite(x)) {
    // In units of the last place of x's binade; a carry moves the code into the next binade.
    const int exponent = x == 0 ? lowest_exponent() : std::max(exponent_of(x), lowest_exponent());
    const double units =
        std::fabs(round_to_integer(x * wide_power_of_two(mantissa_bits - exponent), rounding, noise));
    const double wide = (exponent - lowest_exponent()) * wide_power_of_two(mantissa_bits) + units;
    if (wide <= largest_code()) code = static_cast<Code16>(wide);
  }
  if (flavour == Flavour::fnuz && (code == 0 || code == nan_code())) return code;
  return static_cast<Code16>(code | sign);
}

float MinifloatLayout::decode(Code16 code) const {
  const Code16 unsigned_code = static_cast<Code16>(code & (sign_bit() - 1));
  const bool negative = (code & sign_bit()) != 0;
  if (flavour == Flavour::fnuz && code == sign_bit()) return kNan;
  if (unsigned_code > largest_code()) {
    const bool infinite = flavour == Flavour::inf && unsigned_code == largest_code() + 1;
    return std::copysign(infinite ? kInfinity : kNan, negative ? -1.0f : 1.0f);
  }
  const auto value = static_cast<float>(magnitude(unsigned_code));
  return negative ? -value : value;
}

std::optional<BeyondFloat32> beyond_float32(double largest, double smallest) {
  if (largest > std::numeric_limits<float>::max())
    return BeyondFloat32{"its largest values exceed float32",
                         "a larger exponent_bias, or fewer exponent bits"};
  if (smallest < wide_power_of_two(-149)) {
    return BeyondFloat32{"its smallest values underflow float32",
                         "a smaller exponent_bias, or fewer bits of exponent or mantissa"};
  }
  return std::nullopt;
}

Result<void> check(const MinifloatLayout& layout) {
  const auto fail = [&](std::string why, std::string hint) {
    return invalid_argument(fmt::format("no minifloat of {} bits with {} exponent bits and bias {}: {}",
                                        layout.bits(), layout.exponent_bits, layout.bias, why),
                            std::move(hint));
  };
  if (layout.bias < -500 || layout.bias > 500) return fail("the bias is out of range", "-500 to 500");
  if (layout.mantissa_bits < 0) {
    return fail("the exponent does not fit", "exponent_width at most width - 1 (one bit is the sign)");
  }
  // Inf and NaN share an exponent and are distinguished by the mantissa.
  if (layout.flavour == Flavour::inf && layout.mantissa_bits == 0) {
    return fail("flavour inf needs a mantissa bit to distinguish NaN from Inf",
                "another flavour, or exponent_width at most width - 2");
  }
  if (layout.flavour == Flavour::fn && layout.exponent_bits + layout.mantissa_bits < 2) {
    return fail("NaN takes the only code besides zero", "another flavour, or a larger width");
  }
  const auto problem = beyond_float32(layout.largest(), layout.smallest());
  return problem ? fail(problem->why, problem->hint) : Result<void>();
}

Properties MinifloatCodec::properties() const {
  const bool has_nan = layout_.flavour != Flavour::finite;
  return {.bits = layout_.bits(),
          .largest = layout_.largest(),
          .lowest = -layout_.largest(),
          .smallest = layout_.smallest(),
          .zero = true,
          .negative_zero = layout_.flavour != Flavour::fnuz,
          .infinity = layout_.flavour == Flavour::inf,
          .nan = has_nan,
          .layout = "s " + std::string(static_cast<std::size_t>(layout_.exponent_bits), 'e') +
                    (layout_.mantissa_bits > 0 ? " " : "") +
                    std::string(static_cast<std::size_t>(layout_.mantissa_bits), 'm')};
}

void MinifloatCodec::encode(std::span<const float> values, ConstWords, Draw draw, Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = layout_.encode(values[i], saturate_, draw.rounding, draw.noise ? draw.noise[i] : 0);
  }
}

void MinifloatCodec::decode(std::span<const Code16> codes, ConstWords, float* values) const {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = layout_.decode(codes[i]);
}

Range MinifloatCodec::range(ConstWords) const {
  const auto largest = static_cast<float>(layout_.largest());
  return {-largest, largest};
}

Code16 E8m0::encode(float x, bool saturate, Rounding rounding, std::uint32_t noise) {
  if (is_nan(x)) return kNanCode;
  if (!(x > 0)) return saturate ? Code16{0} : kNanCode;
  int code = kLargestCode + 1;
  if (is_finite(x)) {
    const int exponent = exponent_of(x);
    const double significand = round_to_integer(x * wide_power_of_two(-exponent), rounding, noise);
    code = std::max(exponent + kBias + (significand >= 2 ? 1 : 0), 0);
  }
  if (code > kLargestCode) return saturate ? kLargestCode : kNanCode;
  return static_cast<Code16>(code);
}

Properties E8m0Codec::properties() const {
  return {.bits = 8,
          .largest = E8m0::decode(E8m0::kLargestCode),
          .lowest = E8m0::decode(0),
          .smallest = E8m0::decode(0),
          .nan = true,
          .layout = "eeeeeeee"};
}

void E8m0Codec::encode(std::span<const float> values, ConstWords, Draw draw, Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = E8m0::encode(values[i], saturate_, draw.rounding, draw.noise ? draw.noise[i] : 0);
  }
}

void E8m0Codec::decode(std::span<const Code16> codes, ConstWords, float* values) const {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = E8m0::decode(codes[i]);
}

Range E8m0Codec::range(ConstWords) const { return {E8m0::decode(0), E8m0::decode(E8m0::kLargestCode)}; }

std::span<const Descriptor> minifloat_descriptors() {
  static const Descriptor all[] = {
      named("fp8_e5m2", kE5m2, "OCP 8-bit float with infinities", "float8_e5m2",
            {"f8e5m2", "float8e5m2", "float8_e5m2"}),
      named("fp8_e4m3", kE4m3, "OCP 8-bit float without infinity", "float8_e4m3fn",
            {"float8", "f8", "e4m3fn", "fp8_e4m3fn", "f8e4m3fn", "float8e4m3fn", "float8_e4m3fn",
             "float8_e4m3"}),
      named("fp6_e3m2", kE3m2, "OCP 6-bit float, wider range", "", {"float6_e3m2fn"}),
      named("fp6_e2m3", kE2m3, "OCP 6-bit float, finer steps", "", {"float6_e2m3fn"}),
      named("fp4_e2m1", kE2m1, "OCP 4-bit float", "float4_e2m1fn",
            {"float4", "f4", "float4e2m1", "float4_e2m1fn"}),
      named("fp8_e4m3fnuz", kE4m3fnuz, "8-bit float of some accelerators: no -0, no infinity",
            "float8_e4m3fnuz", {"float8e4m3fnuz", "float8_e4m3fnuz"}),
      named("fp8_e5m2fnuz", kE5m2fnuz, "8-bit float of some accelerators: no -0, no infinity, wider range",
            "float8_e5m2fnuz", {"float8e5m2fnuz", "float8_e5m2fnuz"}),
      named("float16", kFloat16, "IEEE 754 half precision", "float16", {"fp16", "f16", "half"}),
      named("bfloat16", kBfloat16, "the upper half of a float32", "bfloat16", {"bf16", "brainfloat16"}),
      {.name = "minifloat",
       .family = "minifloat",
       .summary = "minifloat with custom width, exponent width, bias and flavour",
       .parameters = {kWidth,
                      kExponentWidth,
                      kExponentBias,
                      {"flavour",
                       std::string("finite"),
                       "which codes are Inf or NaN; fnuz raises the automatic bias by one",
                       0,
                       0,
                       {std::begin(kFlavours), std::end(kFlavours)}},
                      kSaturate},
       .make =
           [](const Values& values) {
             return make_custom(values, flavour_named(word(values, "flavour")), flag(values, "saturate"));
           }},
      {.name = "minifloat_ieee",
       .family = "minifloat",
       .summary = "minifloat with subnormals, without Inf and NaN",
       .parameters = {kWidth, kExponentWidth, kExponentBias, mase::profile_parameter()},
       .make = make_ieee},
      {.name = "fp8_e8m0",
       .family = "minifloat",
       .summary = "powers of two, for scales: no sign, no zero",
       .parameters = {kSaturate},
       .float_type = "float8_e8m0fnu",
       .other_names = {"float8e8m0", "float8_e8m0fnu"},
       .make = [](const Values& values) -> Result<std::shared_ptr<const Codec>> {
         return std::make_shared<const E8m0Codec>(flag(values, "saturate"));
       }},
  };
  return all;
}

}  // namespace anybit::formats
