// is_nan for any type, including types without NaN.
#pragma once

namespace anybit {

template <class T>
constexpr bool is_nan(const T& x) {
  return x != x;  // NOLINT(misc-redundant-expression)
}

}  // namespace anybit
