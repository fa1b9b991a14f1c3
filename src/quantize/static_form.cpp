#include "quantize/static_form.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/try.hpp"
#include "lower/standard.hpp"
#include "quantize/parameters.hpp"

namespace anybit::quantizing {
namespace {

using formats::Codec;
using formats::Use;

// values of a group that share parameters; any number gives the same exponent
constexpr std::int64_t kGroup = 16;

// Integers times a power of two: an ONNX integer type.
StaticForm integer_form(const Use& use, const formats::Ungrouped& values) {
  const int low = values.low, high = values.high;
  Spec integer;
  const auto bits = [&](int n) { return low >= -(1 << (n - 1)) && high < 1 << (n - 1); };
  integer.use.format = low >= 0 ? (high < 256 ? "uint8" : "uint16") : bits(8) ? "int8" : "int16";
  const auto step = static_cast<float>(std::ldexp(1.0, values.exponent));
  StaticForm form{{use, {.type = integer.element(), .scales = {step}, .zero_points = {0}}, {}, {}}};
  form.low = step * static_cast<float>(low);
  form.high = step * static_cast<float>(high);
  const graph::IntegerRange all = graph::integer_range(integer.element());
  if (low != all.low || high != all.high) form.as.clip = {form.low, form.high};
  return form;
}

// Values of another format times a scale.
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

Result<StaticForm> of_groups(const Spec& spec, const Codec& codec, const calibrate::Range& range) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(std::max(codec.words(kGroup), 1)));
  const formats::Words used = std::span(words).first(static_cast<std::size_t>(codec.words(kGroup)));
  if (!used.empty()) TRY(codec.choose_from_range({range.low, range.high}, used));
  const auto values = codec.ungrouped(used);
  if (values && values->format.empty()) return integer_form(spec.use, *values);
  if (values)
    return scaled(values->format, values->parameters, values->factor, codec.rounding(spec.use.rounding));
  return error_at(Code::unsupported, {},
                  fmt::format("{} cannot be static: its parameters depend on the values", spec.format()),
                  fmt::format("{} without '{}'", spec.format(), spec.observer));
}

}  // namespace

Result<StaticForm> static_form(const Spec& spec, const calibrate::Range& range) {
  const formats::Descriptor* format = TRY(formats::find(spec.format()));
  const auto codec = TRY(format->make(TRY(formats::complete(*format, spec.use.parameters))));
  calibrate::Range held{std::min(range.low, 0.0F), std::max(range.high, 0.0F)};
  const std::vector<float>& given = spec.given.scales;
  if (!given.empty() && format->granularity != Granularity::element)
    return error_at(Code::unsupported, {},
                    fmt::format("{}: its parameters come from a range, not from a scale", spec.format()),
                    "range -1 1");
  if (format->granularity != Granularity::element) return of_groups(spec, *codec, held);
  if (!given.empty()) return scaled(spec.format(), spec.use.parameters, given[0], spec.use.rounding);
  const double largest = std::max(-static_cast<double>(held.low), static_cast<double>(held.high));
  const float scale = scale_over(largest, codec->properties().largest);
  return scaled(spec.format(), spec.use.parameters, scale, spec.use.rounding);
}

}  // namespace anybit::quantizing
