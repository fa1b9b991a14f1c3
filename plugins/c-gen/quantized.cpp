#include "quantized.hpp"

#include <algorithm>
#include <cmath>

#include "tiles.hpp"

namespace anybit::cgen {

Quantization quantization_at(const Node& node, std::size_t scale, std::size_t zero_point) {
  return {node.float_in(scale, "a scale", 1), node.integer_in(zero_point, "a zero point", 0)};
}

bool is_byte(const Value& value) { return value.type == Element::uint8 || value.type == Element::int8; }
bool is_code(const Value& value) {
  return is_byte(value) || value.type == Element::uint16 || value.type == Element::int16;
}
bool is_signed(const Value& value) { return value.info().low < 0; }

std::string_view short_name(const Value& value) {
  switch (value.type) {
    case Element::int8:
    case Element::int4:
    case Element::int2:
      return "s8";
    case Element::uint8:
    case Element::uint4:
    case Element::uint2:
      return "u8";
    case Element::int16:
      return "s16";
    case Element::uint16:
      return "u16";
    case Element::int32:
      return "s32";
    default:
      return "f32";
  }
}

void need_to_code(Node& node) {
  // Adding 1.5 * 2^23 rounds half to even and leaves the integer in the low bits. The bits of positive floats
  // sort like the floats, so the sum is clamped as an integer. No branches and no traps: loops vectorize.
  node.helper("to_code",
              R"(INLINE int32_t to_code(float real, int32_t low, int32_t high, int32_t zero) {
  union { float real; int32_t bits; } sum;
  int32_t bits;
  sum.real = real + 12582912.0f;
  bits = sum.bits;
  bits = bits > 0x4B400000 + low ? bits : 0x4B400000 + low;
  bits = bits < 0x4B400000 + high ? bits : 0x4B400000 + high;
  return bits - 0x4B400000 + zero;
})");
}

std::string need_any_to_code(Node& node) {
  need_to_code(node);
  node.helper("any_to_code",
              R"(INLINE int32_t any_to_code(float real, int32_t low, int32_t high, int32_t zero) {
  const int32_t code = to_code(real, low, high, zero);
  union { float real; int32_t bits; } given;
  given.real = real;
  return (given.bits & 0x7FFFFFFF) > 0x7F800000 ? zero : code;
})");
  return "any_to_code";
}

std::string code_arguments(std::int64_t zero_point, const ElementInfo& type) {
  return fmt::format("{}, {}, {}", type.low - zero_point, type.high - zero_point, zero_point);
}

std::string to_code(Node& node, std::string_view real, std::int64_t zero_point, const ElementInfo& type) {
  need_to_code(node);
  return fmt::format("({})to_code({}, {})", type.c, real, code_arguments(zero_point, type));
}

std::int64_t rounded(float x, std::int64_t zero_point, const ElementInfo& type) {
  if (std::isnan(x)) return zero_point;
  const double integer = std::nearbyint(static_cast<double>(x)) + static_cast<double>(zero_point);
  return static_cast<std::int64_t>(
      std::clamp(integer, static_cast<double>(type.low), static_cast<double>(type.high)));
}

void emit_look_up(Node& node, const std::string& table, const std::string& x, const std::string& y,
                  std::int64_t count) {
  need_vectors(node);
  // One 16-entry shuffle per value of the upper four bits: only matching bytes keep an index below 128 and
  // get a nonzero result.
  node.helper("look_up",
              R"(ALONE static void look_up(const uint8_t *table, const void *from, void *to, int32_t count) {
  const uint8_t *x = (const uint8_t *)from;
  uint8_t *y = (uint8_t *)to;
  int32_t i = 0;
#if defined(VECTORS) && !defined(__clang__)
  typedef char chars __attribute__((vector_size(32)));
  typedef chars loose_chars __attribute__((aligned(1), may_alias));
  chars parts[16];
  for (int32_t h = 0; h < 16 && count >= 128; ++h)
    for (int32_t j = 0; j < 32; ++j) parts[h][j] = (char)table[16 * h + j % 16];
  for (; i + 32 <= count && count >= 128; i += 32) {
    const chars quantized = *(const loose_chars *)(const void *)(x + i);
    const chars up = {0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70,
                      0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70, 0x70};
    chars found = __builtin_ia32_pshufb256(parts[0], __builtin_ia32_paddusb256(quantized, up));
    for (int32_t h = 1; h < 16; ++h)
      found |= __builtin_ia32_pshufb256(parts[h], __builtin_ia32_paddusb256(quantized ^ (char)(16 * h), up));
    *(loose_chars *)(void *)(y + i) = found;
  }
#endif
  for (; i < count; ++i) y[i] = table[x[i]];
})");
  node.line("look_up({}, {}, {}, {});", table, x, y, count);
}

}  // namespace anybit::cgen
