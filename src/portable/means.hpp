// Mean magnitudes for binary and ternary formats: float64, finite values only, summed in the order of
// formats::chunked_sum.
#pragma once

#include "portable/groups.hpp"

namespace anybit::portable {

struct MagnitudeSum {
  Term sum, count;
};
// Over the finite values of each group: all, or those above a threshold.
MagnitudeSum sum_magnitudes(const Groups& groups, const Term& x);
MagnitudeSum sum_magnitudes_above(const Groups& groups, const Term& x, const Term& threshold);

// The mean as a scale: float32, at least the smallest normal number; `otherwise` if there are no values.
Term mean_as_scale(const MagnitudeSum& all, double otherwise);

}  // namespace anybit::portable
