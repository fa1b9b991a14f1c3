#include "constants.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "node.hpp"

namespace anybit::cgen {
namespace {

using enum Element;

template <class T>
T read(const char* data, std::int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<std::int64_t>(sizeof value), sizeof value);
  return value;
}

// Elements of any C integer type that take full bytes.
std::optional<std::int64_t> integer_at(Element type, const char* data, std::int64_t i) {
  switch (type) {
    case int8:
    case int4:
    case int2:
      return read<std::int8_t>(data, i);
    case uint8:
    case uint4:
    case uint2:
    case boolean:
      return read<std::uint8_t>(data, i);
    case int16:
      return read<std::int16_t>(data, i);
    case uint16:
      return read<std::uint16_t>(data, i);
    case int32:
      return read<std::int32_t>(data, i);
    case uint32:
      return read<std::uint32_t>(data, i);
    case int64:
      return read<std::int64_t>(data, i);
    case uint64:
      return static_cast<std::int64_t>(read<std::uint64_t>(data, i));
    default:
      return std::nullopt;
  }
}

struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  bool infinite;  // the highest exponent encodes infinity and NaN
  bool nan_at_top, nan_at_minus_zero;
};

float decode(const SmallFloat& f, std::uint32_t bits) {
  const std::uint32_t sign = bits >> (f.exponent_bits + f.mantissa_bits) & 1;
  const int most = (1 << f.exponent_bits) - 1;
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits) & most;
  const auto mantissa = static_cast<int>(bits) & ((1 << f.mantissa_bits) - 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  if (f.infinite && exponent == most)
    return mantissa != 0 ? nan : (sign ? -1.0f : 1.0f) * std::numeric_limits<float>::infinity();
  if (f.nan_at_top && exponent == most && mantissa == (1 << f.mantissa_bits) - 1) return nan;
  if (f.nan_at_minus_zero && sign && exponent == 0 && mantissa == 0) return nan;
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << f.mantissa_bits);
  const float magnitude =
      std::ldexp(static_cast<float>(whole), (exponent == 0 ? 1 : exponent) - f.bias - f.mantissa_bits);
  return sign ? -magnitude : magnitude;
}

std::string element_text(Element type, const char* data, std::int64_t i) {
  if (type == float32) return literal(read<float>(data, i));
  if (type == float64) return literal(read<double>(data, i));
  if (info(type).kind == Kind::small_real)
    return fmt::format("{}",
                       info(type).bytes == 2 ? read<std::uint16_t>(data, i) : read<std::uint8_t>(data, i));
  if (type == uint64) return fmt::format("UINT64_C({})", read<std::uint64_t>(data, i));
  return literal(*integer_at(type, data, i));
}

std::string with_point(std::string text) {
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <class T>
std::string real_literal(T number, const char* suffix) {
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) return number < 0 ? "-INFINITY" : "INFINITY";
  return with_point(fmt::format("{}", number)) + suffix;
}

}  // namespace

std::string literal(float number) { return real_literal(number, "f"); }
std::string literal(double number) { return real_literal(number, ""); }
std::string literal(std::int64_t number) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
  if (number > kLow && number <= std::numeric_limits<std::int32_t>::max()) return fmt::format("{}", number);
  if (number == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  return number == kLow ? "INT32_MIN" : fmt::format("INT64_C({})", number);
}

float real_of(Element type, std::uint32_t bits) {
  switch (type) {
    case float16:
      return decode({5, 10, 15, true, false, false}, bits);
    case bfloat16:
      return decode({8, 7, 127, true, false, false}, bits);
    case float8_e4m3fn:
      return decode({4, 3, 7, false, true, false}, bits);
    case float8_e4m3fnuz:
      return decode({4, 3, 8, false, false, true}, bits);
    case float8_e5m2:
      return decode({5, 2, 15, true, false, false}, bits);
    case float8_e5m2fnuz:
      return decode({5, 2, 16, false, false, true}, bits);
    case float4_e2m1:
      return decode({2, 1, 1, false, false, false}, bits);
    case float8_e8m0:
      return bits == 255 ? std::numeric_limits<float>::quiet_NaN()
                         : std::ldexp(1.0f, static_cast<int>(bits) - 127);
    default:
      return 0;
  }
}

std::string_view bytes_of(const Value& value) {
  const std::int64_t count = value.count();
  const auto wanted = static_cast<std::size_t>((count * value.info().bits + 7) / 8);
  if (!value.constant() || count < 0 || value.view->bytes != wanted)
    throw Refusal(fmt::format("c-gen cannot generate constant '{}': {} elements do not take {} bytes",
                              value.name, count, value.constant() ? value.view->bytes : 0));
  return {static_cast<const char*>(value.view->data), value.view->bytes};
}

std::string unpacked(const Value& value) {
  const std::string_view data = bytes_of(value);
  const int bits = value.info().bits;
  if (bits >= 8) return std::string(data);
  std::string result;
  for (std::int64_t i = 0; i < value.count(); ++i) {
    int code = static_cast<unsigned char>(data[static_cast<std::size_t>(i * bits / 8)]) >> (i * bits % 8) &
               ((1 << bits) - 1);
    if (value.info().low < 0 && code > value.info().high) code -= 1 << bits;
    result += static_cast<char>(code);
  }
  return result;
}

std::optional<std::vector<std::int64_t>> integers_of(const Value& value) {
  if (value.info().kind != Kind::integer && value.info().kind != Kind::boolean) return std::nullopt;
  const std::string data = unpacked(value);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < value.count(); ++i) result.push_back(*integer_at(value.type, data.data(), i));
  return result;
}

std::optional<std::vector<float>> floats_of(const Value& value) {
  std::vector<float> result;
  if (const auto whole = integers_of(value)) {
    for (const std::int64_t one : *whole) result.push_back(static_cast<float>(one));
    return result;
  }
  const std::string data = unpacked(value);
  for (std::int64_t i = 0; i < value.count(); ++i) {
    if (value.type == float32) {
      result.push_back(read<float>(data.data(), i));
    } else if (value.type == float64) {
      result.push_back(static_cast<float>(read<double>(data.data(), i)));
    } else if (value.info().kind == Kind::small_real) {
      result.push_back(real_of(value.type, value.info().bytes == 2 ? read<std::uint16_t>(data.data(), i)
                                                                   : read<std::uint8_t>(data.data(), i)));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

std::string initializer(Element type, const char* data, std::int64_t count) {
  constexpr std::size_t kColumns = 108;
  std::string result = "  ";
  std::size_t column = 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string text = element_text(type, data, i) + (i + 1 < count ? "," : "");
    if (column + text.size() + 1 > kColumns) {
      result += "\n  ";
      column = 2;
    } else if (i > 0) {
      result += ' ';
      ++column;
    }
    result += text;
    column += text.size();
  }
  return result;
}

}  // namespace anybit::cgen
