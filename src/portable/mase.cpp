#include "portable/mase.hpp"

#include <cmath>

#include "portable/codes.hpp"
#include "portable/numbers.hpp"

namespace anybit::portable::mase {
namespace {

constexpr double kLogOfTwo = 0.69314718055994530942;

double power(int exponent) { return std::ldexp(1.0, exponent); }

// The entry of a table for the exponent of a power of two: its logarithm only has to be nearest to that
// integer.
template <class Entry>
Term for_each(const Term& below, Exponents range, const Entry& entry) {
  std::vector<double> entries;
  for (int e = range.lowest; e <= range.highest; ++e) entries.push_back(entry(e));
  const Term exponent = round(below.body().op("Log", {below}) / kLogOfTwo);
  return look_up(entries, to_index(exponent - range.lowest));
}

Term power_below(const Term& a, Exponents range) {
  return min(portable::power_below(a, range.lowest), power(range.highest));
}

// `below`, or twice that from `factor` times it on.
Term from(const Term& a, const Term& below, const Term& factor, Exponents range) {
  return min(where(at_least(a, below * factor), below * 2, below), power(range.highest));
}

}  // namespace

Term floor_power(const Term& a, Exponents range) {
  const Term below = power_below(a, range);
  const Term factor =
      for_each(below, range, [](int e) { return 2 - formats::mase::near_power(e + 1).below * power(-23); });
  return from(a, below, factor, range);
}

Term ceil_power(const Term& a, Exponents range) {
  const Term below = power_below(a, range);
  const Term factor =
      for_each(below, range, [](int e) { return 1 + (formats::mase::near_power(e).above + 1) * power(-23); });
  return from(a, below, factor, range);
}

Term nearest_power(const Term& a, Exponents range) {
  const Term below = power_below(a, range);
  const Term factor =
      for_each(below, range, [](int e) { return formats::mase::nearest_power_threshold(e) * power(-23); });
  return from(a, below, factor, range);
}

Term sum(const Term& x, const Term& number) { return to_double(to_single(x) + to_single(number)); }

Term minifloat(const Term& magnitude, const Term& exponent, const Term& lowest, int mantissa_bits) {
  const double shift = power(mantissa_bits);
  const Term normal = round(magnitude / exponent * shift - shift);
  const Term subnormal = round(magnitude / exponent * (shift / 2));
  const Term is_normal = greater(exponent, lowest);
  const Term mantissa = clip(where(is_normal, normal, subnormal), 0, shift - 1);
  return where(is_normal, mantissa + shift, mantissa * 2) * exponent / shift;
}

Term with_sign(const Term& x, const Term& magnitude) {
  return magnitude * where(less(x, 0), -1, x.body().real(1));
}

Term pass(const Term& x, const Term& magnitude) {
  const Term a = abs(x);
  return where(greater(a, formats::mase::kPassed), magnitude, a);
}

}  // namespace anybit::portable::mase
