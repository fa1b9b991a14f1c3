// Our elementary functions against libm's in long double.
#include "base/math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace anybit::math {
namespace {

constexpr unsigned kSeed = 20261118;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Double = double (*)(double);
using Long = long double (*)(long double);

struct Case {
  const char* name;
  Double ours;
  Long right;
  double low, high;
};

const Case kCases[] = {
    {"exp", fixed::exp, std::exp, -700, 700},
    {"exp", fixed::exp, std::exp, -1, 1},
    {"expm1", fixed::expm1, std::expm1, -40, 40},
    {"expm1", fixed::expm1, std::expm1, -0.4, 0.4},
    {"log", fixed::log, std::log, 1e-300, 10},
    {"log", fixed::log, std::log, 0.5, 2},
    {"log10", fixed::log10, std::log10, 1e-3, 1e6},
    {"log1p", fixed::log1p, std::log1p, -0.99, 5},
    {"sin", fixed::sin, std::sin, -4, 4},
    {"sin", fixed::sin, std::sin, -1e5, 1e5},
    {"cos", fixed::cos, std::cos, -4, 4},
    {"cos", fixed::cos, std::cos, -1e5, 1e5},
    {"tan", fixed::tan, std::tan, -1.5, 1.5},
    {"asin", fixed::asin, std::asin, -1, 1},
    {"acos", fixed::acos, std::acos, -1, 0.99},
    {"atan", fixed::atan, std::atan, -30, 30},
    {"sinh", fixed::sinh, std::sinh, -30, 30},
    {"cosh", fixed::cosh, std::cosh, -30, 30},
    {"tanh", fixed::tanh, std::tanh, -25, 25},
    {"asinh", fixed::asinh, std::asinh, -1e9, 1e9},
    {"asinh", fixed::asinh, std::asinh, -2, 2},
    {"acosh", fixed::acosh, std::acosh, 1.01, 50},
    {"atanh", fixed::atanh, std::atanh, -0.99, 0.99},
    {"erf", fixed::erf, std::erf, -6, 6},
    {"erfc", fixed::erfc, std::erfc, -6, 1},
    {"erfc", fixed::erfc, std::erfc, 2, 20},
};

TEST(FixedMath, IsWithinAFewUnitsInTheLastPlaceOfDouble) {
  for (const Case& one : kCases) {
    std::mt19937_64 random(kSeed);
    std::uniform_real_distribution<double> uniform(one.low, one.high);
    double worst = 0, at = 0;
    for (int i = 0; i < 20000; ++i) {
      const double x = uniform(random);
      const long double right = one.right(static_cast<long double>(x));
      const double away = static_cast<double>(std::fabs(static_cast<long double>(one.ours(x)) - right) /
                                              std::max(std::fabs(right), 1e-9L));
      if (away > worst) {
        worst = away;
        at = x;
      }
    }
    // erfc's e^(-x²) amplifies the rounding of x².
    EXPECT_LT(worst, one.right == Long(std::erfc) ? 1e-13 : 3e-15)
        << one.name << "(" << at << "), seed " << kSeed;
  }
}

TEST(FixedMath, KeepsSignsZerosAndInfinities) {
  for (const Double odd : {fixed::sin, fixed::tan, fixed::asin, fixed::atan, fixed::sinh, fixed::tanh,
                           fixed::asinh, fixed::atanh, fixed::erf}) {
    EXPECT_EQ(odd(0.0), 0);
    EXPECT_TRUE(std::signbit(odd(-0.0)));
    EXPECT_EQ(odd(-0.3), -odd(0.3));
  }
  for (const Double one :
       {fixed::exp, fixed::expm1, fixed::log, fixed::log10, fixed::log1p, fixed::sin, fixed::cos, fixed::tan,
        fixed::asin, fixed::acos, fixed::atan, fixed::sinh, fixed::cosh, fixed::tanh, fixed::asinh,
        fixed::acosh, fixed::atanh, fixed::erf, fixed::erfc})
    EXPECT_TRUE(std::isnan(one(std::numeric_limits<double>::quiet_NaN())));
  for (const Double one : {fixed::sin, fixed::cos, fixed::tan, fixed::asin, fixed::acos, fixed::atanh})
    EXPECT_TRUE(std::isnan(one(kInfinity)));
  for (const Double one : {fixed::exp, fixed::expm1, fixed::log, fixed::log1p, fixed::sinh, fixed::cosh,
                           fixed::asinh, fixed::acosh})
    EXPECT_EQ(one(kInfinity), kInfinity);
  EXPECT_EQ(fixed::exp(-kInfinity), 0);
  EXPECT_EQ(fixed::exp(0), 1);
  EXPECT_EQ(fixed::exp(-744), std::exp(-744.0));  // subnormal
  EXPECT_EQ(fixed::expm1(-kInfinity), -1);
  EXPECT_EQ(fixed::log(0), -kInfinity);
  EXPECT_EQ(fixed::log(1), 0);
  EXPECT_TRUE(std::isnan(fixed::log(-1)));
  EXPECT_EQ(fixed::log1p(-1), -kInfinity);
  EXPECT_EQ(fixed::atan(kInfinity), std::atan(kInfinity));
  EXPECT_EQ(fixed::asin(1), std::asin(1.0));
  EXPECT_EQ(fixed::acos(1), 0);
  EXPECT_EQ(fixed::tanh(kInfinity), 1);
  EXPECT_EQ(fixed::atanh(1), kInfinity);
  EXPECT_TRUE(std::isnan(fixed::acosh(0.5)));
  EXPECT_TRUE(std::isnan(fixed::asin(1.5)));
  EXPECT_EQ(fixed::erf(kInfinity), 1);
  EXPECT_EQ(fixed::erfc(kInfinity), 0);
  EXPECT_EQ(fixed::erfc(-kInfinity), 2);
}

TEST(FixedMath, PowersAreLibmsToTwelveDigits) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> bases(0.01, 20), exponents(-9, 9);
  for (int i = 0; i < 20000; ++i) {
    const double x = bases(random), y = exponents(random);
    const double right = std::pow(x, y), whole = std::pow(-x, std::round(y));
    EXPECT_NEAR(fixed::pow(x, y), right, 1e-13 * right) << x << " " << y << ", seed " << kSeed;
    EXPECT_NEAR(fixed::pow(-x, std::round(y)), whole, 1e-13 * std::fabs(whole)) << x << " " << y;
  }
}

TEST(FixedMath, PowersOfSpecialNumbersAreLibms) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double all[] = {0,  -0.0, 1,  -1,  0.5,   -0.5,      2,          3,  -3,
                        64, 65,   67, -67, 1e300, kInfinity, -kInfinity, nan};
  for (const double x : all) {
    for (const double y : all) {
      const double ours = fixed::pow(x, y), right = std::pow(x, y);
      if (std::isnan(right)) {
        EXPECT_TRUE(std::isnan(ours)) << x << " " << y;
      } else if (std::isinf(right) || right == 0) {
        EXPECT_EQ(ours, right) << x << " " << y;
        EXPECT_EQ(std::signbit(ours), std::signbit(right)) << x << " " << y;
      } else {
        EXPECT_NEAR(ours, right, 1e-12 * std::fabs(right)) << x << " " << y;
      }
    }
  }
}

TEST(Math, IsLibmsExceptInReproducibleMode) {
  int differ = 0;
  for (int i = 1; i < 1000; ++i) {
    const double x = i * 0.0137;
    EXPECT_EQ(math::exp(x), std::exp(x));
    EXPECT_EQ(math::pow(x, 1.3), std::pow(x, 1.3));
    const ReproducibleScope scope(true);
    EXPECT_EQ(math::exp(x), fixed::exp(x));
    EXPECT_EQ(math::exp(static_cast<float>(x)),
              static_cast<float>(fixed::exp(static_cast<double>(static_cast<float>(x)))));
    differ += math::pow(x, 1.3) != std::pow(x, 1.3) ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace anybit::math
