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
#include "refine/table.hpp"

namespace anybit::quantizing {

// Chooses parameters for a range, extended to include zero.
lower::Parameters from_range(const calibrate::Range& range, const Spec& spec);
// Chooses parameters for an output with a known range: the scale is a power of two if the bounds are.
lower::Parameters from_fixed(const ops::Traits::Range& range, const Spec& spec);

// The given parameters (Spec::given): one scale.
lower::Parameters from_given(const Spec& spec);
// The zero point of the i-th given scale; by default that of the format.
std::int32_t given_zero_point(const Spec& spec, std::size_t i);

// The number of quantized values; for floating-point formats the number of codes, for observers.
std::int64_t levels_of(const Spec& spec);
// The lowest and highest value at a scale of 1.
struct Ends {
  float low = 0, high = 0;
};
Ends ends_of(const Spec& spec, std::int32_t zero_point);

// The zero point of symmetric quantization.
std::int32_t middle(const graph::IntegerRange& integers);
// The codec of an integer format with a scale.
std::shared_ptr<const formats::AffineCodec> affine_codec(const Spec& spec);
// The codec's choice for a range. A scale that would be zero or subnormal becomes 1: such values are
// indistinguishable, and products of scales must not underflow.
formats::AffineParameters over(const formats::AffineCodec& codec, formats::Range range);
// The scale that maps `largest` to the largest value of a format; 1 as above.
float scale_over(double largest, double top);

struct QuantizedConstant {
  graph::Tensor quantized;
  lower::Parameters parameters;
  std::int64_t raised = 0;       // channels whose scale was increased by `least`
  std::int64_t moved = 0;        // values that were not rounded to nearest
  double signal = 0, noise = 0;  // sums of squares of the values and of their errors
};

// Quantizes a constant. `axis`: of channels or blocks. `least`: lower bounds of the scales per channel; may
// be empty; ignored for a spec with given scales. `rounding`: the refinement that rounds, for outputs along
// `outputs_axis`; empty: round to nearest. `bounded`: the reduction order in which pairs keep the bound of
// reduce_range.hpp; null: unbounded. An error if a value is not finite.
Result<QuantizedConstant> quantize_constant(const graph::Tensor& tensor, const Spec& spec, std::int64_t axis,
                                            std::span<const double> least, ThreadPool& pool,
                                            const Rounder& rounding = {}, std::int64_t outputs_axis = -1,
                                            const ReductionOrder* bounded = nullptr);

}  // namespace anybit::quantizing
