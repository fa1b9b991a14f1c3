// Means of magnitudes, as binary and ternary formats take them: in float64, over the finite values alone,
// added up in the library's order.
#pragma once

#include "portable/groups.hpp"

namespace anybit::portable {

struct MagnitudeSum {
  Term sum, count;
};
// Of the finite values of each group: all, or those beyond a threshold.
MagnitudeSum sum_magnitudes(const Groups& groups, const Term& x);
MagnitudeSum sum_magnitudes_above(const Groups& groups, const Term& x, const Term& threshold);

// As a scale: the mean as float32, at least the smallest normal one; `otherwise` for the mean of nothing.
Term mean_as_scale(const MagnitudeSum& all, double otherwise);

}  // namespace anybit::portable
