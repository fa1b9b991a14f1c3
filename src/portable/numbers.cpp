#include "portable/numbers.hpp"

#include <cmath>
#include <limits>

namespace anybit::portable {
namespace {

using formats::Rounding;

constexpr double kLargest = std::numeric_limits<float>::max();

double power(int exponent) { return std::ldexp(1.0, exponent); }

}  // namespace

Term finite(const Term& x) { return clip(where(is_nan(x), 0, x), -kLargest, kLargest); }
Term only_finite(const Term& x) { return where(either(is_nan(x), is_infinite(x)), 0, x); }

// Leading bit by S. M. Rump's method: with q = a · (2^52 + 1), the rounding error of q - q · (1 - 2^-53)
// leaves the leading bit of a. The second factor is written as half of q times 2 - 2^-52, because ONNX
// Runtime removes multiplications by constants that are this close to 1.
Term power_below(const Term& a, int lowest) {
  const Term q = a * (0x1p52 + 1), half_of_q = a * (0x1p51 + 0.5);
  return max(q - half_of_q * (2 - 0x1p-52), power(lowest));
}

Term nearest_power(const Term& a, int lowest) {
  constexpr double kAboveRootOfTwo = 1 + 0x3504F4 * 0x1p-23;
  const Term below = power_below(a, lowest);
  return where(at_least(a, below * kAboveRootOfTwo), below * 2, below);
}

Term rounded(const Term& t, Rounding rounding) {
  const auto by_sign = [&](const Term& magnitude) { return t.body().op("Sign", {t}) * magnitude; };
  switch (rounding) {
    case Rounding::half_away:
      return by_sign(floor(abs(t) + 0.5));
    case Rounding::half_up:
      return floor(t + 0.5);
    case Rounding::toward_zero:
      return by_sign(floor(abs(t)));
    case Rounding::floor:
      return floor(t);
    case Rounding::half_even:
    case Rounding::stochastic:  // rejected by the caller
      break;
  }
  return round(t);
}

// 1/x has the sign of a zero, x that of infinity.
Term sign_of(const Term& x) {
  FunctionBody& body = x.body();
  return where(less(x + body.real(1) / x, 0), -1, body.real(1));
}
Term with_sign_of(const Term& x, const Term& result) { return abs(result) * sign_of(x); }
Term with_sign_of_quark(const Term& x, const Term& scale, const Term& result, Rounding rounding) {
  if (rounding != Rounding::half_even) return with_sign_of(x, result);
  const Term sign = sign_of(x), plain = where(equal(result, 0), 1, sign);
  return abs(result) * where(greater(abs(x), scale * 0x1p-150), plain, sign);
}
Term without_negative_zero(const Term& result) { return where(equal(result, 0), 0, result); }

Term limited(const Term& value) {
  const Term below = where(greater(value, kLargest), kLargest, value);
  return where(less(below, -kLargest), -kLargest, below);
}

Term limited_single(const Term& value) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return value.body().op("Clip", {value, value.body().single(-kMost), value.body().single(kMost)});
}

Term fill_empty_scales(const Term& nothing, const Term& scales) {
  const Term chosen = where(nothing, 0, scales);
  const Term largest = max(reduce("ReduceMax", chosen, {}), 0);
  const Term stand_in = where(equal(largest, 0), 1, largest);
  return where(nothing, stand_in, chosen);
}

Term to_unbounded_minifloat(const Term& x, const formats::MinifloatLayout& layout, Rounding rounding) {
  const Term step = power_below(abs(x), layout.lowest_exponent()) * power(-layout.mantissa_bits);
  return rounded(x / step, rounding) * step;
}

Term to_minifloat(const Term& x, const formats::MinifloatLayout& layout, Rounding rounding) {
  return clip(to_unbounded_minifloat(x, layout, rounding), -layout.largest(), layout.largest());
}

}  // namespace anybit::portable
