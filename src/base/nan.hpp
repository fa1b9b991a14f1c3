// NaN, for types that may have none.
#pragma once

namespace anybit {

template <class T>
constexpr bool is_nan(const T& x) {
  return x != x;  // NOLINT(misc-redundant-expression)
}

}  // namespace anybit
