#include "quantize/static_form.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "formats/block_fp.hpp"
#include "formats/block_log.hpp"
#include "formats/block_minifloat.hpp"
#include "formats/fixed.hpp"
#include "formats/log.hpp"
#include "formats/mx.hpp"
#include "formats/nvfp4.hpp"
#include "formats/shared_micro.hpp"
#include "lower/standard.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

using formats::Codec;
using formats::Use;

constexpr std::int64_t kGroup = 16;  // values of a group that share words: any number gives the same exponent

int exponent_in(formats::ConstWords words) { return formats::exponent_in(words[0]); }

// Whole numbers of a step that is a power of two: they are integers of an ONNX type.
StaticForm whole_numbers(const Use& use, int low, int high, int exponent) {
  Spec integer;
  const auto bits = [&](int n) { return low >= -(1 << (n - 1)) && high < 1 << (n - 1); };
  integer.use.format = low >= 0 ? (high < 256 ? "uint8" : "uint16") : bits(8) ? "int8" : "int16";
  const auto step = static_cast<float>(std::ldexp(1.0, exponent));
  StaticForm form{{use, {.type = integer.element(), .scales = {step}, .zero_points = {0}}, {}, {}}};
  form.low = step * static_cast<float>(low);
  form.high = step * static_cast<float>(high);
  const graph::IntegerRange all = graph::integer_range(integer.element());
  if (low != all.low || high != all.high) form.as.clip = {form.low, form.high};
  return form;
}

// Values of another format, times a scale.
Result<StaticForm> scaled(std::string_view format, formats::Values parameters, float scale,
                          formats::Rounding rounding) {
  Use use{.format = std::string(format), .parameters = std::move(parameters), .grouping = {}, .rank = {}};
  use.rounding = rounding;
  const auto codec = TRY(formats::make(format, use.parameters));
  const formats::Range range = codec->range({});
  const graph::ElementType type = lower::linear_float(use);
  StaticForm form{{use, {.type = type, .scales = {scale}, .zero_points = {0}}, {}, {}}};
  form.low = range.low * scale;
  form.high = range.high * scale;
  return form;
}

Result<StaticForm> of_mx(const Spec& spec, const formats::MxCodec& codec, int exponent) {
  if (codec.element().integer) {
    constexpr int kFraction = 6;
    return whole_numbers(spec.use, codec.options().symmetric ? -127 : -128, 127, exponent - kFraction);
  }
  const std::string element = "fp" + spec.format().substr(std::string_view("mxfp").size());
  return scaled(element, {}, static_cast<float>(std::ldexp(1.0, exponent)),
                codec.rounding(spec.use.rounding));
}

Result<StaticForm> of_groups(const Spec& spec, const Codec& codec, const calibrate::Range& range) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(std::max(codec.words(kGroup), 1)));
  const formats::Words used = std::span(words).first(static_cast<std::size_t>(codec.words(kGroup)));
  if (!used.empty()) TRY(codec.choose_from_range({range.low, range.high}, used));
  if (const auto* fixed = dynamic_cast<const formats::FixedCodec*>(&codec))
    return whole_numbers(spec.use, fixed->layout().lowest(), fixed->layout().highest(), -fixed->frac(words));
  if (const auto* mx = dynamic_cast<const formats::MxCodec*>(&codec))
    return of_mx(spec, *mx, exponent_in(words));
  if (const auto* blocks = dynamic_cast<const formats::BlockFpCodec*>(&codec)) {
    const int largest = blocks->layout().largest_magnitude();
    return whole_numbers(spec.use, -largest, largest, exponent_in(words) - blocks->layout().magnitude_bits());
  }
  if (const auto* micro = dynamic_cast<const formats::SharedMicroCodec*>(&codec)) {
    const int largest = (1 << micro->magnitude_bits()) - 1;
    return whole_numbers(spec.use, -largest, largest, exponent_in(words) - micro->magnitude_bits());
  }
  if (dynamic_cast<const formats::Nvfp4Codec*>(&codec))
    return scaled("fp4_e2m1", {}, formats::Nvfp4Codec::step(words), spec.use.rounding);
  const auto number = [](int n) { return formats::Value(std::to_string(n)); };
  if (const auto* floats = dynamic_cast<const formats::BlockMinifloatCodec*>(&codec)) {
    const formats::MinifloatLayout layout = floats->layout(exponent_in(words));
    return scaled("minifloat_ieee",
                  {{"width", std::int64_t{layout.bits()}},
                   {"exponent_width", std::int64_t{layout.exponent_bits}},
                   {"exponent_bias", number(layout.bias)}},
                  1, spec.use.rounding);
  }
  if (const auto* log = dynamic_cast<const formats::BlockLogCodec*>(&codec))
    return scaled("log",
                  {{"width", std::int64_t{log->bits()}},
                   {"exponent_bias", number(exponent_in(words))},
                   {"with_zero", log->with_zero()}},
                  1, spec.use.rounding);
  return error_at(
      Code::unsupported, {},
      fmt::format("{} has no scale that a range could give: it goes by the values", spec.format()),
      fmt::format("{} without '{}'", spec.format(), spec.observer));
}

}  // namespace

Result<StaticForm> static_form(const Spec& spec, const calibrate::Range& range) {
  const formats::Descriptor* format = TRY(formats::find(spec.format()));
  const auto codec = TRY(format->make(TRY(formats::complete(*format, spec.use.parameters))));
  calibrate::Range held{std::min(range.low, 0.0F), std::max(range.high, 0.0F)};
  const std::vector<float>& given = spec.given.scales;
  if (!given.empty() && format->granularity != Granularity::element)
    return error_at(
        Code::unsupported, {},
        fmt::format("{}: what its values share comes from a range, not from a scale", spec.format()),
        "range -1 1");
  if (format->granularity != Granularity::element) return of_groups(spec, *codec, held);
  if (!given.empty()) return scaled(spec.format(), spec.use.parameters, given[0], spec.use.rounding);
  const double largest = std::max(-static_cast<double>(held.low), static_cast<double>(held.high));
  const float scale = scale_over(largest, codec->properties().largest);
  return scaled(spec.format(), spec.use.parameters, scale, spec.use.rounding);
}

}  // namespace anybit::quantizing
