#include "numbers.hpp"

namespace anybit::cgen {
namespace {

constexpr std::string_view kReadHalf = R"(static float half_to_float(uint16_t code) {
  union { uint32_t bits; float number; } v;
  const uint32_t sign = (uint32_t)(code & 0x8000u) << 16, rest = code & 0x7FFFu;
  if (rest >= 0x7C00u) {
    v.bits = 0x7F800000u | (rest & 0x3FFu) << 13;
  } else if (rest >= 0x400u) {
    v.bits = (rest << 13) + 0x38000000u;
  } else {
    v.number = (float)rest * 5.9604644775390625e-8f;
  }
  v.bits |= sign;
  return v.number;
})";

constexpr std::string_view kWriteHalf = R"(static uint16_t half_of_float(float number) {
  union { uint32_t bits; float number; } v;
  uint32_t sign, rest;
  v.number = number;
  sign = v.bits >> 16 & 0x8000u;
  rest = v.bits & 0x7FFFFFFFu;
  if (rest > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
  if (rest >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u);
  if (rest < 0x38800000u) {
    v.bits = rest;
    v.number += 0.5f; /* rounds to a multiple of 2^-24 */
    return (uint16_t)(sign | (v.bits - 0x3F000000u));
  }
  rest += 0xFFFu + (rest >> 13 & 1u);
  return (uint16_t)(sign | (rest - 0x38000000u) >> 13);
})";

constexpr std::string_view kReadBrain = R"(static float brain_to_float(uint16_t code) {
  union { uint32_t bits; float number; } v;
  v.bits = (uint32_t)code << 16;
  return v.number;
})";

constexpr std::string_view kWriteBrain = R"(static uint16_t brain_of_float(float number) {
  union { uint32_t bits; float number; } v;
  v.number = number;
  if ((v.bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(v.bits >> 16 | 0x40u);
  return (uint16_t)((v.bits + 0x7FFFu + (v.bits >> 16 & 1u)) >> 16);
})";

// Special values of 8- and 4-bit floats. Kind 0: one NaN beyond the largest number; 1: infinity and NaN; 2:
// NaN in place of negative zero; 3: neither, NaN becomes negative zero.
constexpr std::string_view kReadSmall =
    R"(static float small_to_float(uint8_t code, int exponents, int mantissas, int bias, int kind) {
  const int top = (1 << exponents) - 1, full = (1 << mantissas) - 1;
  const int sign = code >> (exponents + mantissas) & 1, mantissa = code & full;
  const int exponent = code >> mantissas & top;
  float number = exponent ? ldexpf((float)(mantissa + full + 1), exponent - bias - mantissas)
                          : ldexpf((float)mantissa, 1 - bias - mantissas);
  if (kind == 0 && exponent == top && mantissa == full) number = NAN;
  if (kind == 1 && exponent == top) number = mantissa ? NAN : INFINITY;
  if (kind == 2 && sign && exponent == 0 && mantissa == 0) number = NAN;
  return sign ? -number : number;
})";

constexpr std::string_view kWriteSmall =
    R"(static uint8_t small_of_float(float number, int exponents, int mantissas, int bias, int kind, int saturate) {
  const int all = (1 << (exponents + mantissas)) - 1, infinite = all - (1 << mantissas) + 1;
  const int largest = kind == 0 ? all - 1 : kind == 1 ? infinite - 1 : all;
  const int sign = signbit(number) ? 1 << (exponents + mantissas) : 0;
  int exponent, code;
  if (number != number) return (uint8_t)(kind >= 2 ? all + 1 : sign | all);
  if (fabsf(number) == INFINITY) {
    code = all + 1;
  } else if (number == 0) {
    code = 0;
  } else {
    (void)frexpf(number, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    code = exponent + bias > 1 << exponents ? all + 1
           : ((exponent + bias - 1) << mantissas) + (int)rintf(ldexpf(fabsf(number), mantissas - exponent));
  }
  if (code > largest) {
    if (saturate || kind == 3) return (uint8_t)(sign | largest);
    return (uint8_t)(kind == 2 ? all + 1 : sign | (kind == 1 ? infinite : all));
  }
  return (uint8_t)(kind == 2 && code == 0 ? 0 : sign | code);
})";

constexpr std::string_view kReadPower = R"(static float power_to_float(uint8_t code) {
  union { uint32_t bits; float number; } v;
  v.bits = code == 255 ? 0x7FC00000u : code == 0 ? 0x400000u : (uint32_t)code << 23;
  return v.number;
})";

constexpr std::string_view kWritePower =
    R"(static uint8_t power_of_float(float number, int saturate, int up) {
  union { uint32_t bits; float number; } v;
  uint32_t exponent, fraction;
  v.number = number;
  exponent = v.bits >> 23 & 255u;
  fraction = v.bits & 0x7FFFFFu;
  if (exponent == 255) return fraction == 0 && saturate ? 254 : 255;
  if (up == 1) exponent += fraction > 0;
  if (up == 2) exponent += fraction > 0x400000u || (fraction == 0x400000u && exponent > 0);
  return (uint8_t)(exponent == 255 && saturate ? 254 : exponent);
})";

// Exponent bits, mantissa bits, bias, kind.
std::string_view small_layout(Element type) {
  switch (type) {
    case Element::float8_e4m3fn:
      return "4, 3, 7, 0";
    case Element::float8_e4m3fnuz:
      return "4, 3, 8, 2";
    case Element::float8_e5m2:
      return "5, 2, 15, 1";
    case Element::float8_e5m2fnuz:
      return "5, 2, 16, 2";
    case Element::float4_e2m1:
      return "2, 1, 1, 3";
    default:
      return "";
  }
}

// Decodes a code to float, and encodes it.
std::string decoded(Node& node, Element type, std::string_view code) {
  if (type == Element::float16) {
    node.helper("half_to_float", kReadHalf);
    return fmt::format("half_to_float({})", code);
  }
  if (type == Element::bfloat16) {
    node.helper("brain_to_float", kReadBrain);
    return fmt::format("brain_to_float({})", code);
  }
  if (type == Element::float8_e8m0) {
    node.helper("power_to_float", kReadPower);
    return fmt::format("power_to_float({})", code);
  }
  node.helper("small_to_float", kReadSmall);
  return fmt::format("small_to_float({}, {})", code, small_layout(type));
}

std::string encoded(Node& node, Element type, std::string_view number, const Encoding& how) {
  if (type == Element::float16) {
    node.helper("half_of_float", kWriteHalf);
    return fmt::format("half_of_float({})", number);
  }
  if (type == Element::bfloat16) {
    node.helper("brain_of_float", kWriteBrain);
    return fmt::format("brain_of_float({})", number);
  }
  if (type == Element::float8_e8m0) {
    node.helper("power_of_float", kWritePower);
    return fmt::format("power_of_float({}, {}, {})", number, int{how.saturate}, how.power_rounding);
  }
  node.helper("small_of_float", kWriteSmall);
  return fmt::format("small_of_float({}, {}, {})", number, small_layout(type), int{how.saturate});
}

}  // namespace

bool is_unsigned(const Value& value) { return value.c().starts_with("uint"); }

std::string_view computed(const Value& value) {
  return value.info().kind == Kind::small_real ? "float" : value.c();
}

std::string_view suffix(const Value& value) { return value.type == Element::float64 ? "" : "f"; }

std::string_view wrapping(const Value& value) { return value.info().bytes == 8 ? "uint64_t" : "uint32_t"; }

std::string load(Node& node, const Value& value, std::string_view pointer, std::string_view index) {
  const std::string element = fmt::format("{}[{}]", pointer, index);
  if (is_integer(value) && value.info().bits < 8) {
    // Callers do not clear the unused upper bits.
    const int half = 1 << (value.info().bits - 1);
    return is_unsigned(value) ? fmt::format("({} & {})", element, 2 * half - 1)
                              : fmt::format("((({} & {}) ^ {}) - {})", element, 2 * half - 1, half, half);
  }
  return value.info().kind == Kind::small_real ? decoded(node, value.type, element) : element;
}

std::string store(Node& node, const Value& value, std::string_view pointer, std::string_view index,
                  std::string_view number, const Encoding& how) {
  std::string code(number);
  const int bits = value.info().bits;
  if (value.info().kind == Kind::small_real) {
    code = encoded(node, value.type, number, how);
  } else if (is_integer(value) && bits < 8) {
    const int half = 1 << (bits - 1);
    code = is_unsigned(value)
               ? fmt::format("(uint8_t)(({}) & {})", number, 2 * half - 1)
               : fmt::format("(int8_t)(((({}) & {}) ^ {}) - {})", number, 2 * half - 1, half, half);
  } else if (is_integer(value)) {
    code = fmt::format("({})({})", value.c(), number);
  }
  return fmt::format("{}[{}] = {};", pointer, index, code);
}

std::string within(Node& node, std::string_view number, std::int64_t low, std::int64_t high) {
  node.helper("within", R"(static int32_t within(int64_t number, int32_t low, int32_t high) {
  return number < low ? low : number > high ? high : (int32_t)number;
})");
  return fmt::format("within({}, {}, {})", number, low, high);
}

std::string number(const Value& value, double real) {
  if (!is_real(value)) return literal(static_cast<std::int64_t>(real));
  return value.type == Element::float64 ? literal(real) : literal(static_cast<float>(real));
}

std::string largest(const Value& value) {
  if (is_real(value)) return "INFINITY";
  const int bits = is_boolean(value) ? 1 : value.info().bits - (is_unsigned(value) ? 0 : 1);
  if (bits == 64) return "UINT64_MAX";
  return literal(static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1));
}

std::string lowest(const Value& value) {
  if (is_real(value)) return "-INFINITY";
  if (is_unsigned(value)) return "0";
  return value.type == Element::int64 ? "INT64_MIN" : literal(-(std::int64_t{1} << (value.info().bits - 1)));
}

std::string filled(std::string_view text, const Names& names) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    for (const auto& [name, meaning] : names) {
      if (!text.substr(i + 1).starts_with(name)) continue;
      result += meaning;
      i += name.size();
      break;
    }
  }
  return result;
}

std::string typed(std::string_view text, const Value& value, Names names) {
  names.emplace_back("f", suffix(value));
  names.emplace_back("T", computed(value));
  names.emplace_back("U", wrapping(value));
  return filled(text, names);
}

}  // namespace anybit::cgen
