#include "portable/numbers.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace anybit::portable {
namespace {

using formats::Rounding;

constexpr double kLargest = std::numeric_limits<float>::max();
// Of this many powers of two the right one is found by comparing with each.
constexpr int kFewPowers = 7;

double power(int exponent) { return std::ldexp(1.0, exponent); }

Value by_comparing(const Value& a, int lowest, int highest) {
  Value result = a.body().real(power(lowest));
  for (int exponent = lowest + 1; exponent <= highest; ++exponent)
    result = where(at_least(a, power(exponent)), power(exponent), result);
  return result;
}

// The logarithm tells the power or, as it is a little too large, the next one. Powers come from a table, so
// that they are exact whoever computes them.
Value by_logarithm(const Value& a, int lowest, int highest) {
  constexpr double kMargin = 0x1p-10;
  std::vector<double> powers;
  for (int exponent = lowest; exponent <= highest; ++exponent) powers.push_back(power(exponent));
  const Value logarithm = a.body().op("Log", {a}) * std::numbers::log2e + kMargin;
  const Value index = clip(floor(logarithm), lowest, highest) - lowest;
  const Value found = gather(a.body().reals(powers), to_index(index));
  return max(where(greater(found, a), found * 0.5, found), power(lowest));
}

}  // namespace

Value finite(const Value& x) { return clip(where(is_nan(x), 0, x), -kLargest, kLargest); }
Value only_finite(const Value& x) { return where(either(is_nan(x), is_infinite(x)), 0, x); }

Value power_below(const Value& a, int lowest, int highest) {
  return highest - lowest < kFewPowers ? by_comparing(a, lowest, highest) : by_logarithm(a, lowest, highest);
}

Value nearest_power(const Value& a, int lowest, int highest) {
  constexpr double kAboveRootOfTwo = 1 + 0x3504F4 * 0x1p-23;
  const Value below = power_below(a, lowest, highest);
  return where(at_least(a, below * kAboveRootOfTwo), below * 2, below);
}

Value rounded(const Value& t, Rounding rounding) {
  const auto by_sign = [&](const Value& magnitude) { return t.body().op("Sign", {t}) * magnitude; };
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
    case Rounding::stochastic:  // refused before it comes here
      break;
  }
  return round(t);
}

// The reciprocal tells the sign of zero, the number that of infinity.
Value sign_of(const Value& x) {
  Body& body = x.body();
  return where(less(x + body.real(1) / x, 0), -1, body.real(1));
}
Value with_sign_of(const Value& x, const Value& result) { return abs(result) * sign_of(x); }
Value without_negative_zero(const Value& result) { return where(equal(result, 0), 0, result); }

Value limited(const Value& value) {
  const Value below = where(greater(value, kLargest), kLargest, value);
  return where(less(below, -kLargest), -kLargest, below);
}

Value to_unbounded_minifloat(const Value& x, const formats::MinifloatLayout& layout, Rounding rounding) {
  const Value step = power_below(abs(x), layout.lowest_exponent(),
                                 std::max(layout.largest_exponent(), layout.lowest_exponent())) *
                     power(-layout.mantissa_bits);
  return rounded(x / step, rounding) * step;
}

Value to_minifloat(const Value& x, const formats::MinifloatLayout& layout, Rounding rounding) {
  return clip(to_unbounded_minifloat(x, layout, rounding), -layout.largest(), layout.largest());
}

}  // namespace anybit::portable
