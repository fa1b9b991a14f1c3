// Logarithmic numbers, ±2^k; docs/formats.md#log. The logarithm is rounded by the bits of the significand.
#include "formats/log.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/mase.hpp"
#include "formats/mase_codec.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

Result<std::shared_ptr<const Codec>> make_log(const Values& values) {
  const int width = integer(values, "width");
  const int bias = TRY(integer_or_auto(values, "exponent_bias", (1 << (width - 2)) - 1));
  const LogLayout layout{width, bias, flag(values, "with_zero")};
  TRY(check(layout));
  auto codec = std::make_shared<const LogCodec>(layout);
  if (!mase::is_mase(values)) return codec;
  if (layout.with_zero) return mase::no_zero();
  const float offset = mase::log_offset(bias);
  const auto rule = [layout, offset](float x) {
    return mase::logarithmic(x, offset, layout.lowest_exponent(), layout.highest_exponent());
  };
  return std::make_shared<const MaseCodec>(std::move(codec), false, rule);
}

}  // namespace

Code16 LogLayout::encode(float x) const {
  if (is_nan(x)) return 0;
  const Code16 sign = is_negative(x) ? sign_bit() : Code16{0};
  if (with_zero && std::fabs(x) < power_of_two(-bias)) return sign;
  if (x == 0) return 0;
  const int nearest = is_finite(x) ? nearest_exponent(x) : highest_exponent();
  const int exponent = std::clamp(nearest, lowest_exponent(), highest_exponent());
  return static_cast<Code16>(sign | (exponent + bias));
}

float LogLayout::decode(Code16 code) const {
  const int magnitude = code & (sign_bit() - 1);
  const float value = with_zero && magnitude == 0 ? 0.0f : power_of_two(magnitude - bias);
  return (code & sign_bit()) != 0 ? -value : value;
}

Result<void> check(const LogLayout& layout) {
  const int lowest = -149, highest = 127;  // exponents of float32
  if (layout.bias > -lowest || layout.bias < (1 << (layout.bits - 1)) - 1 - highest) {
    return invalid_argument(
        fmt::format("no log format of {} bits with bias {}: its values do not fit float32", layout.bits,
                    layout.bias),
        fmt::format("exponent_bias from {} to {}", (1 << (layout.bits - 1)) - 1 - highest, -lowest));
  }
  return {};
}

Properties LogCodec::properties() const {
  return {.bits = layout_.bits,
          .largest = power_of_two(layout_.highest_exponent()),
          .lowest = -power_of_two(layout_.highest_exponent()),
          .smallest = power_of_two(layout_.lowest_exponent()),
          .zero = layout_.with_zero,
          .negative_zero = layout_.with_zero,
          .layout = "s " + std::string(static_cast<std::size_t>(layout_.bits - 1), 'e')};
}

void LogCodec::encode(std::span<const float> values, ConstWords, Draw, Code16* codes) const {
  for (std::size_t i = 0; i < values.size(); ++i) codes[i] = layout_.encode(values[i]);
}

void LogCodec::decode(std::span<const Code16> codes, ConstWords, float* values) const {
  for (std::size_t i = 0; i < codes.size(); ++i) values[i] = layout_.decode(codes[i]);
}

Range LogCodec::range(ConstWords) const {
  const float largest = power_of_two(layout_.highest_exponent());
  return {-largest, largest};
}

std::span<const Descriptor> log_descriptors() {
  static const Descriptor all[] = {
      {.name = "log",
       .family = "log",
       .summary = "powers of two: a sign and an exponent",
       .parameters = {{"width", std::int64_t{8}, "total bits", 2, 9},
                      {"exponent_bias", std::string("auto"), "bias of the exponent; auto: 2^(width-2) - 1"},
                      {"with_zero", false, "the lowest code is zero"},
                      mase::profile_parameter()},
       .make = make_log},
  };
  return all;
}

}  // namespace anybit::formats
