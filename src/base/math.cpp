// Range reduction to near zero, then a Taylor series with all terms that matter in double, summed from the
// smallest. Only functions of libm that are exact on every CPU are used: sqrt, fmod, ldexp, frexp, rounding.
#include "base/math.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <numbers>

namespace anybit::math::fixed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// ln 2 and π/2 in parts: the first has so few bits that small multiples are exact.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
constexpr double kHalfPi[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                              2.02226624871116645580e-21};

template <std::size_t kCount>
using Series = std::array<double, kCount>;

template <std::size_t kCount>
double sum(double x, const Series<kCount>& coefficients) {
  double total = 0;
  for (std::size_t i = kCount; i-- > 0;) total = total * x + coefficients[i];
  return total;
}

// 1/first!, 1/(first + step)!, …; with alternating signs if step is 2.
template <std::size_t kCount>
constexpr Series<kCount> factorials(int first, int step) {
  Series<kCount> all{};
  double product = 1;
  for (int i = 2; i <= first; ++i) product *= i;
  int at = first;
  for (std::size_t i = 0; i < kCount; ++i) {
    all[i] = (step == 2 && i % 2 == 1 ? -1 : 1) / product;
    for (int k = 0; k < step; ++k) product *= ++at;
  }
  return all;
}

// scale/3, scale/5, …
template <std::size_t kCount>
constexpr Series<kCount> odd_parts(double scale, bool alternating) {
  Series<kCount> all{};
  for (std::size_t i = 0; i < kCount; ++i)
    all[i] = (alternating && i % 2 == 1 ? -scale : scale) / static_cast<double>(2 * i + 3);
  return all;
}

// x = quarters · π/2 + rest with |rest| ≤ π/4. Beyond a million turns, π is used in double precision.
struct Angle {
  double rest;
  std::int64_t quarters;
};
Angle reduced(double x) {
  constexpr double kFar = 1.6e6;
  if (std::fabs(x) > kFar) x = std::fmod(x, 2 * std::numbers::pi);
  const double n = std::nearbyint(x * (2 / std::numbers::pi));
  if (n == 0) return {x, 0};
  double rest = x;
  for (const double part : kHalfPi) rest -= n * part;
  return {rest, static_cast<std::int64_t>(n)};
}

double near_sin(double x) {
  if (x == 0) return x;  // keeps the sign of zero
  static constexpr auto kSeries = factorials<8>(3, 2);
  const double z = x * x;
  return x - x * z * sum(z, kSeries);
}

double near_cos(double x) {
  static constexpr auto kSeries = factorials<8>(4, 2);
  const double z = x * x;
  return 1 - (z / 2 - z * z * sum(z, kSeries));
}

double turned_sin(Angle angle) {
  const double value = angle.quarters & 1 ? near_cos(angle.rest) : near_sin(angle.rest);
  return angle.quarters & 2 ? -value : value;
}

// By the series with positive terms only.
double near_erf(double x) {
  const double z = x * x;
  double term = x, total = x;
  for (int n = 1; term > total * 1e-18; ++n) {
    term *= 2 * z / (2 * n + 1);
    total += term;
  }
  return 2 * std::numbers::inv_sqrtpi * exp(-z) * total;
}

// By the continued fraction, for x ≥ 2.
double far_erfc(double x) {
  if (x > 27) return 0;
  double below = x;
  for (int n = 120; n > 0; --n) below = x + n / 2.0 / below;
  return std::numbers::inv_sqrtpi * exp(-x * x) / below;
}

constexpr double kErfSplit = 2;

double integer_power(double x, int n) {
  double result = 1;
  for (int left = n < 0 ? -n : n; left > 0; left >>= 1, x *= x) {
    if (left & 1) result *= x;
  }
  return n < 0 ? 1 / result : result;
}

}  // namespace

double exp(double x) {
  if (!(x < 709.9)) return x != x ? x : kInfinity;
  if (x < -745.2) return 0;
  static constexpr auto kSeries = factorials<12>(2, 1);
  const double n = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  return std::ldexp(1 + (r + r * r * sum(r, kSeries)), static_cast<int>(n));
}

double expm1(double x) {
  if (std::fabs(x) > 0.35) return exp(x) - 1;
  static constexpr auto kSeries = factorials<12>(2, 1);
  return x + x * x * sum(x, kSeries);
}

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  if (x == kInfinity) return x;
  static constexpr auto kSeries = odd_parts<12>(2, false);
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double f = m - 1, s = f / (2 + f), z = s * s;
  const double part = f - s * (f - z * sum(z, kSeries));
  return exponent * kLn2High + (part + exponent * kLn2Low);
}

double log10(double x) { return log(x) * std::numbers::log10e; }

double log1p(double x) {
  const double u = 1 + x;
  if (u == 1 || x == kInfinity) return x;
  return log(u) * (x / (u - 1));
}

double pow(double x, double y) {
  if (std::nearbyint(y) == y && std::fabs(y) <= 64) return integer_power(x, static_cast<int>(y));
  // Zero, infinity and NaN have exact results.
  if (!(std::fabs(x) > 0 && std::fabs(x) < kInfinity && std::fabs(y) < kInfinity) || x == 1)
    return std::pow(x, y);
  if (y == 0.5 && x > 0) return std::sqrt(x);
  if (x > 0) return exp(y * log(x));
  if (std::nearbyint(y) != y) return kNan;
  const double magnitude = exp(y * log(-x));
  return std::fmod(y, 2) != 0 ? -magnitude : magnitude;
}

double sin(double x) { return std::isfinite(x) ? turned_sin(reduced(x)) : kNan; }

double cos(double x) {
  if (!std::isfinite(x)) return kNan;
  const Angle angle = reduced(x);
  return turned_sin({angle.rest, angle.quarters + 1});
}

double tan(double x) {
  if (!std::isfinite(x)) return kNan;
  const Angle angle = reduced(x);
  const double s = near_sin(angle.rest), c = near_cos(angle.rest);
  return angle.quarters & 1 ? -c / s : s / c;
}

double atan(double x) {
  static constexpr auto kSeries = odd_parts<12>(1, true);
  const double a = std::fabs(x);
  if (a > 1) return std::copysign(std::numbers::pi / 2 - atan(1 / a), x);
  const bool far = a > 0.41421356;
  double t = far ? (a - 1) / (a + 1) : a;
  t = t / (1 + std::sqrt(1 + t * t));  // half-angle reduction
  const double z = t * t;
  const double angle = 2 * (t - t * z * sum(z, kSeries));
  return std::copysign(far ? std::numbers::pi / 4 + angle : angle, x);
}

double asin(double x) { return atan(x / std::sqrt((1 - x) * (1 + x))); }
double acos(double x) { return 2 * atan(std::sqrt((1 - x) / (1 + x))); }

double sinh(double x) {
  const double a = std::fabs(x);
  if (a > 22) {
    const double root = exp(a / 2);
    return std::copysign(root / 2 * root, x);
  }
  const double t = expm1(a);
  return std::copysign((t + t / (t + 1)) / 2, x);
}

double cosh(double x) {
  const double root = exp(std::fabs(x) / 2);
  return root / 2 * root + 0.5 / root / root;
}

double tanh(double x) {
  const double t = expm1(2 * std::fmin(std::fabs(x), 20.0));
  return x != x ? x : std::copysign(t / (t + 2), x);
}

double asinh(double x) {
  const double a = std::fabs(x);
  const double value = a > 1e8 ? log(a) + std::numbers::ln2 : log1p(a + a * a / (1 + std::sqrt(1 + a * a)));
  return std::copysign(value, x);
}

double acosh(double x) {
  if (x > 1e8) return log(x) + std::numbers::ln2;
  const double t = x - 1;
  return log1p(t + std::sqrt(2 * t + t * t));
}

double atanh(double x) {
  const double a = std::fabs(x);
  return std::copysign(log1p(2 * a / (1 - a)) / 2, x);
}

double erf(double x) {
  const double a = std::fabs(x);
  if (x != x) return x;
  return std::copysign(a < kErfSplit ? near_erf(a) : 1 - far_erfc(a), x);
}

double erfc(double x) {
  if (x != x) return x;
  if (x < kErfSplit) return 1 - erf(x);
  return far_erfc(x);
}

}  // namespace anybit::math::fixed
