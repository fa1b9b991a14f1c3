// Building blocks of the formulas. Values are float64, where the product of a float32 and any power of two in
// use is exact: no underflow, no double rounding.
#pragma once

#include "formats/minifloat.hpp"
#include "formats/rounding.hpp"
#include "portable/formula.hpp"

namespace anybit::portable {

// NaN becomes 0, infinity ± the largest float32.
Term finite(const Term& x);
// NaN and infinity become 0.
Term only_finite(const Term& x);

// 2^floor(log2 a) for a >= 0, but at least 2^lowest.
Term power_below(const Term& a, int lowest);
// 2^round(log2 a), rounded up from √2 on; at least 2^lowest.
Term nearest_power(const Term& a, int lowest);

Term rounded(const Term& t, formats::Rounding rounding);
// |result| with the sign of x, including the sign of zero; NaN counts as positive. Must be the last step, and
// a multiplication: Where may lose the sign of zero in ONNX Runtime.
Term with_sign_of(const Term& x, const Term& result);
Term sign_of(const Term& x);  // 1 or -1
// The same as AMD Quark does when it rounds to multiples of a power of two: half to even, a zero is negative
// only if x / scale is a negative zero in float32.
Term with_sign_of_quark(const Term& x, const Term& scale, const Term& result, formats::Rounding rounding);
// Turns -0 into 0.
Term without_negative_zero(const Term& result);
// Saturates to the float32 range. NaN stays.
Term limited(const Term& value);
// The same for float32, where overflow is infinity; must not be NaN. Zero keeps its sign.
Term limited_single(const Term& value);

// Scales of groups; groups of zeros only (`nothing`) get the largest scale of the others, or 1.
Term fill_empty_scales(const Term& nothing, const Term& scales);

// The nearest number of the layout, saturated; the sign of zero is unspecified. x is finite.
Term to_minifloat(const Term& x, const formats::MinifloatLayout& layout, formats::Rounding rounding);
// The same without saturation: the exponent range has no upper end.
Term to_unbounded_minifloat(const Term& x, const formats::MinifloatLayout& layout,
                            formats::Rounding rounding);

}  // namespace anybit::portable
