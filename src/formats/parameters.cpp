#include "formats/parameters.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit::formats {
namespace {

std::string_view type_name(const Value& value) {
  constexpr std::string_view kNames[] = {"true or false", "an integer", "a number", "a string"};
  return kNames[value.index()];
}

// An integer is accepted for a real parameter; a number, true or false for a string parameter ("auto").
Value convert(const Value& given, const Value& like) {
  if (std::holds_alternative<std::string>(like)) return to_string(given);
  if (std::holds_alternative<double>(like) && std::holds_alternative<std::int64_t>(given)) {
    return static_cast<double>(std::get<std::int64_t>(given));
  }
  return given;
}

Result<void> check_bounds(std::string_view owner, const Parameter& parameter, const Value& value) {
  const auto fail = [&](std::string wanted) {
    return invalid_argument(
        fmt::format("{}: {} = {} is not possible", owner, parameter.name, shown(to_string(value))),
        std::move(wanted));
  };
  if (const auto* word = std::get_if<std::string>(&value)) {
    if (parameter.choices.empty()) return {};
    if (std::find(parameter.choices.begin(), parameter.choices.end(), *word) != parameter.choices.end())
      return {};
    return fail(fmt::format("one of {}", fmt::join(parameter.choices, ", ")));
  }
  if (std::holds_alternative<bool>(value)) return {};
  const double number = std::holds_alternative<double>(value)
                            ? std::get<double>(value)
                            : static_cast<double>(std::get<std::int64_t>(value));
  if (number >= parameter.low && number <= parameter.high) return {};
  return fail(fmt::format("from {:g} to {:g}", parameter.low, parameter.high));
}

template <class Number>
Result<Value> parse_number(std::string_view name, std::string_view text, std::string_view wanted) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size()) return Value(number);
  return invalid_argument(fmt::format("{} = {} is not possible", name, shown(text)),
                          fmt::format("{} is {}", name, wanted));
}

}  // namespace

Result<Values> complete(std::string_view owner, std::span<const Parameter> parameters, const Values& given) {
  Values result;
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) {
    result.emplace(parameter.name, parameter.preset);
    names.push_back(parameter.name);
  }
  for (const auto& [name, value] : given) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(),
                                        [&name = name](const Parameter& p) { return p.name == name; });
    if (parameter == parameters.end()) {
      std::string hint = did_you_mean(name, names);
      if (hint.empty()) {
        hint = names.empty() ? "it has no parameters"
                             : fmt::format("its parameters: {}", fmt::join(names, ", "));
      }
      return invalid_argument(fmt::format("{} has no parameter '{}'", owner, shown(name)), std::move(hint));
    }
    const Value converted = convert(value, parameter->preset);
    if (converted.index() != parameter->preset.index()) {
      return invalid_argument(
          fmt::format("{}: {} = {} is not possible", owner, name, shown(to_string(value))),
          fmt::format("{} is {}", name, type_name(parameter->preset)));
    }
    TRY(check_bounds(owner, *parameter, converted));
    result[name] = converted;
  }
  return result;
}

Result<Value> parse(std::string_view owner, std::span<const Parameter> parameters, std::string_view name,
                    std::string_view text) {
  for (const Parameter& one : parameters) {
    if (one.name != name) continue;
    if (std::holds_alternative<std::int64_t>(one.preset))
      return parse_number<std::int64_t>(name, text, "an integer");
    if (std::holds_alternative<double>(one.preset)) return parse_number<double>(name, text, "a number");
    if (std::holds_alternative<std::string>(one.preset)) return Value(std::string(text));
    if (text == "true" || text == "false") return Value(text == "true");
    return invalid_argument(fmt::format("{} = {} is not possible", name, shown(text)),
                            fmt::format("{} is true or false", name));
  }
  // No such parameter: complete() reports it, with the nearest name.
  TRY(complete(owner, parameters, {{std::string(name), std::string(text)}}));
  return Value(std::string(text));
}

}  // namespace anybit::formats
