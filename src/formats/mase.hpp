// The rules of MASE's quantizers, for `profile=mase` of the formats that share its values but not its
// rounding; docs/from-mase.md#bits. MASE calculates in float32 with a logarithm; here its exponents come from
// the bits.
#pragma once

#include <string_view>

#include "formats/table.hpp"

namespace anybit::formats::mase {

// Added to a magnitude before its logarithm is taken.
inline constexpr float kNudge = 1e-9f;
// Magnitudes up to this one stay as they are: quantize() returns them, no code has them.
inline constexpr float kPassed = 1e-8f;

// How far from a power of two a logarithm, rounded to float32, is still that integer.
struct NearPower {
  int below = 0;  // in units of 2^-24 of the power
  int above = 0;  // in units of 2^-23
};
NearPower near_power(int exponent);
// The lowest 24-bit significand whose logarithm, rounded to float32 and then half to even, is the next
// integer.
int nearest_power_threshold(int exponent);

// Of the float32 nearest to log2(x), x finite and positive: rounded down, up, and half to even.
int floor_log2(float x);
int ceil_log2(float x);
int round_log2(float x);

// The parameter `profile`.
Parameter profile_parameter();
bool is_mase(const Values& values);
// The error for a logarithmic format with zero.
Error no_zero();

// Whether quantize() returns x itself. -0, which MASE turns into 0, is not passed.
bool passes(float x);

// The value that a finite x is quantized to.
struct Float {
  int mantissa_bits = 0, lowest_exponent = 0, highest_exponent = 0;
};
double minifloat(float x, const Float& format);         // the lowest exponent belongs to subnormals
double minifloat_denorm(float x, const Float& format);  // no implicit leading bit
// The offset of a logarithmic format with this bias, a tenth of its smallest value.
float log_offset(int bias);
// `offset` is added to the value before its sign and its logarithm are taken.
double logarithmic(float x, float offset, int lowest_exponent, int highest_exponent);

}  // namespace anybit::formats::mase
