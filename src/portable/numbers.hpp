// What the formulas of number formats are made of. Values are float64, where a float32 times any power of two
// that occurs is exact: nothing underflows, and nothing is rounded twice.
#pragma once

#include "formats/minifloat.hpp"
#include "formats/rounding.hpp"
#include "portable/body.hpp"

namespace anybit::portable {

// NaN becomes 0, infinity the largest float32.
Value finite(const Value& x);
// NaN and infinity become 0.
Value only_finite(const Value& x);

// 2^floor(log2 a) for 0 <= a, and at least 2^lowest.
Value power_below(const Value& a, int lowest);
// 2^round(log2 a), up from √2 on; at least 2^lowest.
Value nearest_power(const Value& a, int lowest);

Value rounded(const Value& t, formats::Rounding rounding);
// |result| with the sign of x, zeros of either sign among both; NaN is positive. To be done last, and by
// multiplication: what goes through Where may lose the sign of zero in ONNX Runtime.
Value with_sign_of(const Value& x, const Value& result);
Value sign_of(const Value& x);  // 1 or -1
// A result of -0 becomes 0.
Value without_negative_zero(const Value& result);
// Beyond float32: its largest. NaN stays.
Value limited(const Value& value);
// The same of a float32, where what is beyond is infinite; it must not be NaN. Zero keeps its sign.
Value limited_single(const Value& value);

// Scales of groups; those that have `nothing` but zeros get the largest scale of the others, or 1.
Value settled_scales(const Value& nothing, const Value& scales);

// The nearest number of the layout, too large ones being its largest; zero has whatever sign. x is finite.
Value to_minifloat(const Value& x, const formats::MinifloatLayout& layout, formats::Rounding rounding);
// The same without an end: magnitudes go on beyond the layout's largest.
Value to_unbounded_minifloat(const Value& x, const formats::MinifloatLayout& layout,
                             formats::Rounding rounding);

}  // namespace anybit::portable
