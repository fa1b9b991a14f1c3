// Scales and zero points from ranges and from weights: the formulas of docs/formats.md#affine.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "calibrate/table.hpp"
#include "lower/parameters.hpp"
#include "ops/traits.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

// For values between two ends; the range is widened to hold zero.
lower::Parameters from_range(const calibrate::Range& range, const Spec& spec);
// For an output whose ends are known beforehand: a scale that is a power of two where the ends are.
lower::Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec);

struct QuantizedConstant {
  graph::Tensor codes;
  lower::Parameters parameters;
  std::int64_t raised = 0;       // channels whose scale `least` raised
  double signal = 0, noise = 0;  // sums of squares: of the values, and of what they lost
};

// `axis`: of channels or blocks. `least`: by channel, scales that must not be undercut; may be empty. An
// error if a value is not finite.
Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool);

}  // namespace anybit::quantizing
