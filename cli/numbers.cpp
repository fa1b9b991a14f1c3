#include "numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "terminal.hpp"

namespace anybit::cli {
namespace {

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = problem == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<double> bytes_in(std::string_view text) {
  constexpr std::string_view kUnits = "kmgtpe";
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  std::string unit = CLI::detail::to_lower(CLI::detail::trim_copy({end, text.data() + text.size()}));
  if (!unit.empty() && unit.back() == 'b') unit.pop_back();
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit[0]) + 1;  // 0: no such unit
  if (unit.size() > 2 || (unit.size() == 2 && unit[1] != 'i') || (!unit.empty() && power == 0))
    return std::nullopt;
  return std::ldexp(number, 10 * static_cast<int>(power));
}

// The number in its shortest decimal form, if the text is a number in range.
template <class Number>
std::optional<std::string> spelled(std::string_view text, std::int64_t low, std::uint64_t high) {
  const auto number = parsed<Number>(text);
  if (!number || std::cmp_less(*number, low) || std::cmp_greater(*number, high)) return std::nullopt;
  return std::to_string(*number);
}

std::string refusal(const std::string& text, std::string_view wanted) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("invalid value '{}'; expected {}", shortened(printable(text), kLongest), wanted);
}

}  // namespace

CLI::Validator parse_integer(std::int64_t low, std::uint64_t high) {
  const bool bounded = low != INT64_MIN && high < INT64_MAX;
  const std::string wanted =
      low == INT64_MIN ? "a 64-bit integer" : fmt::format("an integer from {} to {}", low, high);
  return {[=](std::string& text) {
            const auto number = text.starts_with('-') ? spelled<std::int64_t>(text, low, high)
                                                      : spelled<std::uint64_t>(text, low, high);
            if (!number) return refusal(text, wanted);
            text = *number;
            return std::string();
          },
          bounded ? fmt::format("{} to {}", low, high) : std::string()};
}

CLI::Validator memory_size() {
  return {[](std::string& text) {
            const auto bytes = bytes_in(text);
            if (!bytes || !(*bytes >= 0 && *bytes < 0x1p63)) return refusal(text, "a size like 500MB or 2GB");
            text = std::to_string(static_cast<std::int64_t>(*bytes));
            return std::string();
          },
          std::string()};
}

CLI::Validator image_size() {
  return {[](std::string& text) {
            const std::size_t cross = text.find_first_of("x,");
            const auto side = [&](std::size_t from, std::size_t count) {
              return spelled<std::uint64_t>(std::string_view(text).substr(from, count), 1, 1 << 20);
            };
            const auto height = side(0, cross);
            const auto width = cross == std::string::npos ? height : side(cross + 1, std::string::npos);
            if (!height || !width) return refusal(text, "a size like 224 or 480x640, height first");
            text = *height + "x" + *width;
            return std::string();
          },
          std::string()};
}

CLI::Validator number_within(double low, double high) {
  return {[low, high](const std::string& text) {
            const auto number = parsed<double>(text);
            const bool within = number && *number >= low && *number <= high;
            return within ? std::string() : refusal(text, fmt::format("a number from {} to {}", low, high));
          },
          fmt::format("{} to {}", low, high)};
}

}  // namespace anybit::cli
