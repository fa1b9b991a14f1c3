#include "formats/use.hpp"

#include <charconv>
#include <sstream>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::formats {
namespace {

Result<std::int64_t> parse_integer(std::string_view name, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size()) return number;
  return invalid_argument(fmt::format("{} = {} is not possible", name, shown(text)),
                          fmt::format("{} is an integer", name));
}

Result<void> read_word(const Descriptor& format, std::string_view name, std::string_view text, Use& use) {
  if (name == "axis") {
    use.grouping.axis = TRY(parse_integer(name, text));
  } else if (name == "block_size") {
    use.grouping.block_size = TRY(parse_integer(name, text));
    if (*use.grouping.block_size < 1)
      return invalid_argument(fmt::format("block size {} is not possible", *use.grouping.block_size),
                              "1 or more");
  } else if (name == "rank") {
    use.rank = TRY(parse_integer(name, text));
  } else if (name == "granularity") {
    use.grouping.granularity = TRY(granularity_named(text));
  } else if (name == "rounding") {
    use.rounding = TRY(rounding_named(text));
  } else {
    use.parameters[std::string(name)] = TRY(parse(format, name, text));
  }
  return {};
}

}  // namespace

std::string to_string(const Use& use) {
  std::string text = use.format;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format(" {}={}", name, value);
  };
  for (const auto& [name, value] : use.parameters) add(name, to_string(value));
  if (use.grouping.granularity) add("granularity", name_of(*use.grouping.granularity));
  if (use.grouping.axis) add("axis", *use.grouping.axis);
  if (use.grouping.block_size) add("block_size", *use.grouping.block_size);
  if (use.rounding != Rounding::half_even) add("rounding", name_of(use.rounding));
  if (use.rank) add("rank", *use.rank);
  return text;
}

Result<Use> read_use(std::string_view text) {
  std::istringstream words{std::string(text)};
  Use use;
  words >> use.format;
  const Descriptor* format = TRY(find(use.format));
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos)
      return invalid_argument(fmt::format("'{}' is not an option", shown(word)), "name=value");
    TRY(read_word(*format, std::string_view(word).substr(0, sign), std::string_view(word).substr(sign + 1),
                  use));
  }
  TRY(complete(*format, use.parameters));
  return use;
}

}  // namespace anybit::formats
