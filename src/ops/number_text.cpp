#include "ops/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ops/op.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

template <class T>
std::string real_text(T x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  return fmt::format("{}", x);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Parses the entire text, or fails. from_chars does not accept a leading plus sign; it does accept "inf" and
// "nan" in any case. For real types overflow gives infinity and underflow zero.
template <class T>
bool parse(std::string_view text, T& value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return false;
  if (error == std::errc()) return true;
  if (std::is_integral_v<T> || error != std::errc::result_out_of_range) return false;
  const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
  value = tiny ? T(0) : std::numeric_limits<T>::infinity();
  if (text[0] == '-') value = -value;
  return true;
}

}  // namespace

std::string text_of(const Array& array, std::int64_t i) {
  const auto size = static_cast<std::int64_t>(element_bytes(array.type()));
  const std::byte* element = array.bytes() + i * size;
  const auto as = [&]<class T>(ElementType type, T value) {
    convert(array.type(), element, type, reinterpret_cast<std::byte*>(&value), 1);
    return value;
  };
  using enum ElementType;
  if (array.type() == float64) return real_text(as(float64, 0.0));
  if (is_float(array.type()) || small_float_values(array.type())) return real_text(as(float32, 0.0f));
  if (array.type() == uint64) return fmt::format("{}", as(uint64, std::uint64_t{0}));
  return fmt::format("{}", as(int64, std::int64_t{0}));
}

Result<void> number_from(const std::string& text, ElementType to, std::byte* out,
                         const ConvertOptions& options) {
  using enum ElementType;
  const std::string_view word = trimmed(text);
  const auto put = [&](ElementType type, const auto& value) {
    convert(type, reinterpret_cast<const std::byte*>(&value), to, out, 1, options);
    return Result<void>();
  };
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  float single = 0;
  double real = 0;
  if (!is_float(to) && !small_float_values(to)) {
    if (parse(word, integer)) return put(int64, integer);
    if (parse(word, natural)) return put(uint64, natural);
  }
  if (to == float32 && parse(word, single)) return put(float32, single);
  if (parse(word, real)) return put(float64, real);
  return wrong(fmt::format("'{}' is not a number", text), "3.14, 1e-5, INF, -INF or NaN");
}

}  // namespace anybit::ops
