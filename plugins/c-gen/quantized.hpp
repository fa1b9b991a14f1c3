// Affine quantization: parameters, and rounding in generated code. Results are bit-identical to anybit's
// kernels: docs/formats.md#requantization.
#pragma once

#include <array>
#include <string>

#include "node.hpp"

namespace anybit::cgen {

struct Quantization {
  float scale = 1;
  std::int64_t zero_point = 0;
};
// Per-tensor parameters from constant inputs; the zero point is optional.
Quantization quantization_at(const Node& node, std::size_t scale, std::size_t zero_point);

bool is_byte(const Value& value);  // uint8 or int8
bool is_code(const Value& value);  // uint8, int8, uint16 or int16
bool is_signed(const Value& value);
std::string_view short_name(const Value& value);  // "u8": for helper names

// An expression that quantizes `real` (a float expression, not NaN): rounds half to even, adds the zero
// point, clamps to the range of the type.
std::string to_code(Node& node, std::string_view real, std::int64_t zero_point, const ElementInfo& type);
// The arguments of the helper: the clamp bounds before the zero point is added, and the zero point.
std::string code_arguments(std::int64_t zero_point, const ElementInfo& type);
// The helper: int32_t to_code(float real, int32_t low, int32_t high, int32_t zero).
void need_to_code(Node& node);
// The name of the variant for inputs that may be NaN, which becomes the zero point.
std::string need_any_to_code(Node& node);

// clamp(round(x) + zero_point); NaN becomes the zero point.
std::int64_t rounded(float x, std::int64_t zero_point, const ElementInfo& type);

// A unary function of an 8-bit tensor as a table, indexed by the byte.
template <class F>
std::array<std::uint8_t, 256> byte_table(const ElementInfo& type, Quantization in, Quantization out,
                                         const F& f) {
  std::array<std::uint8_t, 256> table{};
  for (int byte = 0; byte < 256; ++byte) {
    const std::int64_t code = type.low < 0 && byte > type.high ? byte - 256 : byte;
    const float x = static_cast<float>(code - in.zero_point) * in.scale;
    table[static_cast<std::size_t>(byte)] =
        static_cast<std::uint8_t>(rounded(f(x) / out.scale, out.zero_point, type));
  }
  return table;
}
// y[i] = table[x[i]], for `count` elements.
void emit_look_up(Node& node, const std::string& table, const std::string& x, const std::string& y,
                  std::int64_t count);

}  // namespace anybit::cgen
