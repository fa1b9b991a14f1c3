// Elementary functions. By default libm's, whose bits depend on the CPU: glibc has variants with and without
// fused multiply-adds. In reproducible mode our own, in double without fusing: accurate to a few ulp of
// double, so nearly always correctly rounded to float.
#pragma once

#include <cmath>

#include "base/reproducible.hpp"

namespace anybit::math {
namespace fixed {

double exp(double x);
double expm1(double x);
double log(double x);
double log10(double x);
double log1p(double x);
double pow(double x, double y);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double erf(double x);
double erfc(double x);

}  // namespace fixed

#define ANYBIT_FUNCTION(NAME)                                                                       \
  inline double NAME(double x) { return reproducible() ? fixed::NAME(x) : std::NAME(x); }           \
  inline float NAME(float x) {                                                                      \
    return reproducible() ? static_cast<float>(fixed::NAME(static_cast<double>(x))) : std::NAME(x); \
  }
ANYBIT_FUNCTION(exp)
ANYBIT_FUNCTION(expm1)
ANYBIT_FUNCTION(log)
ANYBIT_FUNCTION(log10)
ANYBIT_FUNCTION(log1p)
ANYBIT_FUNCTION(sin)
ANYBIT_FUNCTION(cos)
ANYBIT_FUNCTION(tan)
ANYBIT_FUNCTION(asin)
ANYBIT_FUNCTION(acos)
ANYBIT_FUNCTION(atan)
ANYBIT_FUNCTION(sinh)
ANYBIT_FUNCTION(cosh)
ANYBIT_FUNCTION(tanh)
ANYBIT_FUNCTION(asinh)
ANYBIT_FUNCTION(acosh)
ANYBIT_FUNCTION(atanh)
ANYBIT_FUNCTION(erf)
ANYBIT_FUNCTION(erfc)
#undef ANYBIT_FUNCTION

inline double pow(double x, double y) { return reproducible() ? fixed::pow(x, y) : std::pow(x, y); }
inline float pow(float x, float y) {
  return reproducible() ? static_cast<float>(fixed::pow(static_cast<double>(x), static_cast<double>(y)))
                        : std::pow(x, y);
}

}  // namespace anybit::math
