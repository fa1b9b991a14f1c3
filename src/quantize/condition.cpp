#include "quantize/condition.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;

constexpr const char* kBounds = "3, ==3, !=3, >3, >=3, <3, <=3 or %32==0";

Result<std::int64_t> integer_of(std::string_view digits, std::string_view whole) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem == std::errc() && end == digits.data() + digits.size()) return number;
  return invalid_argument(fmt::format("'{}' is not a condition on a number", shown(std::string(whole))),
                          kBounds);
}

// The index from the front; -1 if there is no such element.
std::int64_t from_front(std::int64_t index, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (index < -size || index >= size) return -1;
  return index < 0 ? index + size : index;
}

}  // namespace

bool Bound::holds(std::int64_t value) const {
  switch (test) {
    case Test::equal:
      return value == number;
    case Test::different:
      return value != number;
    case Test::more:
      return value > number;
    case Test::at_least:
      return value >= number;
    case Test::less:
      return value < number;
    case Test::at_most:
      return value <= number;
    case Test::remainder:
      return value % divisor == number;
  }
  return false;
}

Result<Bound> parse_bound(std::string_view text) {
  using enum Bound::Test;
  if (text.starts_with('%')) {
    const std::size_t equals = text.find("==");
    const std::string_view divisor = text.substr(1, equals == std::string_view::npos ? 0 : equals - 1);
    const std::string_view rest = equals == std::string_view::npos ? "" : text.substr(equals + 2);
    const std::int64_t left = TRY(integer_of(rest, text)), by = TRY(integer_of(divisor, text));
    if (by < 1)
      return invalid_argument(fmt::format("'{}' divides by {}", shown(std::string(text)), by), "%32==0");
    return Bound{remainder, left, by};
  }
  static constexpr std::pair<std::string_view, Bound::Test> kTests[] = {
      {"==", equal}, {"!=", different}, {">=", at_least}, {"<=", at_most},
      {">", more},   {"<", less},       {"", equal}};
  const auto& [sign, test] =
      *std::ranges::find_if(kTests, [&](const auto& one) { return text.starts_with(one.first); });
  const std::int64_t number = TRY(integer_of(text.substr(sign.size()), text));
  return Bound{test, number};
}

bool TensorCondition::holds(const ops::Value* value) const {
  if (!value) return false;
  if (type != ElementType::undefined && value->type != type) return false;
  if (!rank && dims.empty()) return true;
  if (!value->shape) return false;
  if (rank && !rank->holds(std::ssize(*value->shape))) return false;
  return std::ranges::all_of(dims, [&](const auto& one) {
    const std::int64_t axis = from_front(one.first, value->shape->size());
    return axis >= 0 && one.second.holds((*value->shape)[static_cast<std::size_t>(axis)].size.value_or(-1));
  });
}

bool Condition::holds(const ops::NodeFacts* facts) const {
  if (!has_tensors()) return true;
  if (!facts) return false;
  const auto all = [](const std::vector<TensorCondition>& conditions, std::size_t count,
                      const auto& value_at) {
    return std::ranges::all_of(conditions, [&](const TensorCondition& one) {
      const std::int64_t index = from_front(one.index, count);
      return index >= 0 && one.holds(value_at(static_cast<std::size_t>(index)));
    });
  };
  return all(inputs, facts->inputs.size(), [&](std::size_t i) { return facts->inputs[i]; }) &&
         all(outputs, facts->outputs.size(), [&](std::size_t i) { return &facts->outputs[i]; });
}

Result<ElementType> type_of_mlir(std::string_view name) {
  using enum ElementType;
  static constexpr std::pair<std::string_view, ElementType> kTypes[] = {{"f32", float32},
                                                                        {"f64", float64},
                                                                        {"f16", float16},
                                                                        {"bf16", bfloat16},
                                                                        {"i1", boolean},
                                                                        {"i8", int8},
                                                                        {"i16", int16},
                                                                        {"i32", int32},
                                                                        {"i64", int64},
                                                                        {"i4", int4},
                                                                        {"ui4", uint4},
                                                                        {"ui8", uint8},
                                                                        {"ui16", uint16},
                                                                        {"ui32", uint32},
                                                                        {"ui64", uint64},
                                                                        {"f8E4M3FN", float8e4m3fn},
                                                                        {"f8E5M2", float8e5m2},
                                                                        {"f8E4M3FNUZ", float8e4m3fnuz},
                                                                        {"f8E5M2FNUZ", float8e5m2fnuz},
                                                                        {"!onnx.String", string}};
  std::vector<std::string_view> names;
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == name) return ours;
    names.push_back(theirs);
  }
  const std::string meant = did_you_mean(name, names);
  return invalid_argument(fmt::format("no element type '{}'", shown(std::string(name))),
                          meant.empty() ? "f32, f16, i8, i64, …" : meant);
}

}  // namespace anybit::quantizing
