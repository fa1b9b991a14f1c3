// Minifloats without implicit leading bit: ±2^E · M / 2^m; docs/formats.md#minifloat_denorm. A value may have
// several codes; encoding uses the one with the smallest exponent, whose steps are finest.
#include "formats/minifloat_denorm.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/float_bits.hpp"
#include "formats/mase.hpp"
#include "formats/mase_codec.hpp"
#include "formats/minifloat.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

Result<std::shared_ptr<const Codec>> make_denorm(const Values& values) {
  const int width = integer(values, "width"), exponent_bits = integer(values, "exponent_width");
  const int bias = TRY(integer_or_auto(values, "exponent_bias", (1 << (exponent_bits - 1)) - 1));
  const DenormLayout layout{exponent_bits, width - exponent_bits - 1, bias};
  TRY(check(layout));
  auto codec = std::make_shared<const DenormCodec>(layout);
  if (!mase::is_mase(values)) return codec;
  const mase::Float format{layout.mantissa_bits, layout.lowest_exponent(), layout.highest_exponent()};
  const auto rule = [format](float x) { return mase::minifloat_denorm(x, format); };
  return std::make_shared<const MaseCodec>(std::move(codec), true, rule);
}

}  // namespace

double DenormLayout::magnitude(Code16 code) const {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  return mantissa * wide_power_of_two((code >> mantissa_bits) - bias - mantissa_bits);
}

Code16 DenormLayout::encode(float x, Rounding rounding, std::uint32_t noise) const {
  if (is_nan(x)) return 0;
  const Code16 sign = is_negative(x) ? sign_bit() : Code16{0};
  if (x == 0) return sign;
  const auto saturated = static_cast<Code16>(sign | (sign_bit() - 1));
  if (!is_finite(x)) return saturated;
  // The smallest exponent with |x| < 2^E; rounding up to 2^E carries into the next exponent.
  int exponent = std::max(exponent_of(x) + 1, lowest_exponent());
  int mantissa = static_cast<int>(
      std::fabs(round_to_integer(x * wide_power_of_two(mantissa_bits - exponent), rounding, noise)));
  if (mantissa == 1 << mantissa_bits) {
    mantissa /= 2;
    ++exponent;
  }
  if (exponent > highest_exponent()) return saturated;
  return static_cast<Code16>(sign | (exponent + bias) << mantissa_bits | mantissa);
}

float DenormLayout::decode(Code16 code) const {
  const auto value = static_cast<float>(magnitude(static_cast<Code16>(code & (sign_bit() - 1))));
  return (code & sign_bit()) != 0 ? -value : value;
}

Result<void> check(const DenormLayout& layout) {
  const auto fail = [&](std::string why, std::string hint) {
    return invalid_argument(
        fmt::format("no minifloat_denorm of {} bits with {} exponent bits and bias {}: {}", layout.bits(),
                    layout.exponent_bits, layout.bias, why),
        std::move(hint));
  };
  if (layout.bias < -500 || layout.bias > 500) return fail("the bias is out of range", "-500 to 500");
  if (layout.mantissa_bits < 1) {
    return fail("no bit is left for the mantissa", "exponent_width at most width - 2 (one bit is the sign)");
  }
  const auto problem = beyond_float32(layout.largest(), layout.smallest());
  return problem ? fail(problem->why, problem->hint) : Result<void>();
}

Properties DenormCodec::properties() const {
  return {.bits = layout_.bits(),
          .largest = layout_.largest(),
          .lowest = -layout_.largest(),
          .smallest = layout_.smallest(),
          .zero = true,
          .negative_zero = true,
          .layout = "s " + std::string(static_cast<std::size_t>(layout_.exponent_bits), 'e') + " " +
                    std::string(static_cast<std::size_t>(layout_.mantissa_bits), 'm')};
}

void DenormCodec::encode(std::span<const float> values, ConstWords, Draw draw, Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = layout_.encode(values[i], draw.rounding, draw.noise ? draw.noise[i] : 0);
  }
}

void DenormCodec::decode(std::span<const Code16> codes, ConstWords, float* values) const {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = layout_.decode(codes[i]);
}

Range DenormCodec::range(ConstWords) const {
  const auto largest = static_cast<float>(layout_.largest());
  return {-largest, largest};
}

std::span<const Descriptor> minifloat_denorm_descriptors() {
  static const Descriptor all[] = {
      {.name = "minifloat_denorm",
       .family = "minifloat_denorm",
       .summary = "minifloat without implicit leading bit",
       .parameters = {{"width", std::int64_t{8}, "total bits", 3, 16},
                      {"exponent_width", std::int64_t{4}, "bits of the exponent", 1, 8},
                      {"exponent_bias", std::string("auto"),
                       "bias of the exponent; auto: 2^(exponent_width-1) - 1"},
                      mase::profile_parameter()},
       .make = make_denorm},
  };
  return all;
}

}  // namespace anybit::formats
