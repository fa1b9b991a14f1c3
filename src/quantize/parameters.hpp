// Scales and zero points from ranges and from weights: the formulas of docs/formats.md#affine.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "calibrate/table.hpp"
#include "formats/affine.hpp"
#include "lower/parameters.hpp"
#include "ops/traits.hpp"
#include "quantize/reduce_range.hpp"
#include "quantize/spec.hpp"
#include "quantize/table.hpp"

namespace anybit::quantizing {

// For values between two ends; the range is widened to hold zero.
lower::Parameters from_range(const calibrate::Range& range, const Spec& spec);
// For an output whose ends are known beforehand: a scale that is a power of two where the ends are.
lower::Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec);

// The numbers that it has (Spec::given): one scale.
lower::Parameters from_given(const Spec& spec);
// Of the i-th scale: where none is given, the code of zero that the format has.
std::int32_t given_zero_point(const Spec& spec, std::size_t i);

// How many values the spec has, or as many as an observer should reckon with where they are no grid.
std::int64_t levels_of(const Spec& spec);
// The lowest and the highest value at a scale of 1.
struct Ends {
  float low = 0, high = 0;
};
Ends ends_of(const Spec& spec, std::int32_t zero_point);

// The code of zero where values lie around it.
std::int32_t middle(const graph::IntegerRange& codes);
// The format of integers with a scale.
std::shared_ptr<const formats::AffineCodec> affine_codec(const Spec& spec);
// Its choice for a range. A scale that would be zero or subnormal is 1: such values cannot be told apart, and
// products of scales must not vanish.
formats::AffineParameters over(const formats::AffineCodec& codec, formats::Range range);
// The scale that puts the largest magnitude on the largest value of a format; 1 as above.
float scale_over(double largest, double top);

struct QuantizedConstant {
  graph::Tensor codes;
  lower::Parameters parameters;
  std::int64_t raised = 0;       // channels whose scale `least` raised
  std::int64_t moved = 0;        // values that are not rounded to the nearest, for the sums
  double signal = 0, noise = 0;  // sums of squares: of the values, and of what they lost
};

// Of a spec with numbers of its own these are what counts, and `least` does not.
// `axis`: of channels or blocks. `least`: by channel, scales that must not be undercut; may be empty. An
// error if a value is not finite. `rounding`: the refinement that chooses the roundings, of the outputs along
// this axis; none: every value is rounded to the nearest. `bounded`: the order in which neighbours are to
// keep to the bound of reduce_range.hpp; null: none are.
Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool,
                                            const Rounder& rounding = {}, std::int64_t outputs_axis = -1,
                                            const ReductionOrder* bounded = nullptr);

}  // namespace anybit::quantizing
