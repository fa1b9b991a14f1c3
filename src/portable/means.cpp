#include "portable/means.hpp"

#include "formats/sums.hpp"
#include "portable/numbers.hpp"

namespace anybit::portable {
namespace {

MagnitudeSum sum_where(const Groups& groups, const Term& x, const Term& counted) {
  const Term magnitudes = where(counted, abs(x), 0);
  return {groups.sum_in_order(magnitudes), groups.sum(to_double(counted))};
}

}  // namespace

MagnitudeSum sum_magnitudes(const Groups& groups, const Term& x) {
  return sum_where(groups, x, less(abs(x), formats::kInfinity));  // false for NaN
}

MagnitudeSum sum_magnitudes_above(const Groups& groups, const Term& x, const Term& threshold) {
  const Term a = abs(x);
  return sum_where(groups, x, x.body().op("And", {less(a, formats::kInfinity), greater(a, threshold)}));
}

Term mean_as_scale(const MagnitudeSum& all, double otherwise) {
  const Term mean = where(greater(all.count, 0), all.sum / max(all.count, 1), otherwise);
  return max(to_double(to_single(mean)), formats::kSmallestScale);
}

}  // namespace anybit::portable
