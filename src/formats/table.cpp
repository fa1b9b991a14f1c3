// Finds a format by name and makes its codec: common to all formats.
#include "formats/table.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "formats/other_names.hpp"
#include "formats/parameters.hpp"

namespace anybit::formats {
std::string to_string(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return std::get<std::string>(value);
}

Result<int> integer_or_auto(const Values& values, std::string_view name, int automatic) {
  const std::string& text = word(values, name);
  if (text == "auto") return automatic;
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size()) return number;
  return invalid_argument(fmt::format("{} = {} is not possible", name, shown(text)), "an integer, or auto");
}

bool before(const Descriptor& a, const Descriptor& b) { return a.name < b.name; }

Result<const Descriptor*> find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Descriptor* one : table()) {
    if (one->name == name) return one;
    names.push_back(one->name);
  }
  std::string hint = hint_for_other_name(name);
  if (hint.empty()) hint = did_you_mean(name, names);
  if (hint.empty()) hint = "`anybit formats` lists all formats";
  return error_at(Code::not_found, {}, fmt::format("there is no format '{}'", shown(name)), std::move(hint));
}

Result<Values> complete(const Descriptor& format, const Values& given) {
  return complete(fmt::format("format {}", format.name), format.parameters, given);
}

Result<Value> parse(const Descriptor& format, std::string_view name, std::string_view text) {
  return parse(fmt::format("format {}", format.name), format.parameters, name, text);
}

Result<std::shared_ptr<const Codec>> make(std::string_view name, const Values& given) {
  const Descriptor* format = TRY(find(name));
  return format->make(TRY(complete(*format, given)));
}

}  // namespace anybit::formats
