// Reads packed constants with elements of less than a byte.
#pragma once

#include "node.hpp"

namespace anybit::cgen {

inline bool is_packed(const Value& value) {
  return value.constant() && value.info().kind == Kind::integer && value.info().bits < 8;
}

// The element at an index (a simple expression) as int32_t.
inline std::string packed_element(Node& node, std::size_t input, std::string_view index) {
  const ElementInfo& type = node.in(input).info();
  const int shift = type.bits == 4 ? 1 : 2, each = 8 / type.bits;
  const std::string code = fmt::format("({}[{} >> {}] >> ({} & {}) * {} & {})", node.packed(input), index,
                                       shift, index, each - 1, type.bits, (1 << type.bits) - 1);
  if (type.low == 0) return code;
  return fmt::format("(({} ^ {}) - {})", code, -type.low, -type.low);
}

}  // namespace anybit::cgen
