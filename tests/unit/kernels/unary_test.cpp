// Unary functions of float32 against double: errors at every length and at the edges.
#include "kernels/elementwise/unary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <vector>

namespace anybit::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  const char* name;
  Map map;
  double (*exact)(double);
  float low, high;  // the measured interval
  double ulps;      // the allowed error, in units in the last place of the result …
  double absolute;  // … or at most this
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Errors measured on AVX2, with some allowance; the test prints the errors.
const Case kCases[] = {
    {"exp", Map::exp, std::exp, -103, 88.7f, 2, 0},
    {"log", Map::log, std::log, 1e-40f, 1e38f, 2, 0},
    {"log near 1", Map::log, std::log, 0.5f, 2, 3, 0},
    {"sigmoid", Map::sigmoid, sigmoid, -87, 30, 3, 0},
    {"tanh", Map::tanh, std::tanh, -10, 10, 3, 0},
    {"erf", Map::erf, std::erf, -5, 5, 3, 0},
    {"gelu", Map::gelu, [](double x) { return x * std::erfc(-x / std::numbers::sqrt2) / 2; }, -5, 20, 40,
     1e-7},
    {"tanh_gelu", Map::tanh_gelu,
     [](double x) { return x * sigmoid(2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)); },
     -5, 20, 40, 1e-7},
    {"softplus", Map::softplus, softplus, -80, 80, 3, 0},
    {"mish", Map::mish, [](double x) { return x * std::tanh(softplus(x)); }, -80, 80, 5, 0},
    {"swish", Map::swish, [](double x) { return x * sigmoid(x); }, -80, 80, 4, 0},
    {"elu", Map::elu, [](double x) { return x < 0 ? std::expm1(x) : x; }, -20, 20, 4, 0},
    {"softsign", Map::softsign, [](double x) { return x / (1 + std::abs(x)); }, -100, 100, 2, 0},
    {"sqrt", Map::sqrt, std::sqrt, 0, 1e30f, 1, 0},
    {"reciprocal", Map::reciprocal, [](double x) { return 1 / x; }, 1e-30f, 1e30f, 1, 0},
};

double ulp(double value) {
  const auto magnitude = std::max(std::abs(static_cast<float>(value)), std::numeric_limits<float>::min());
  return static_cast<double>(std::nextafter(magnitude, kInfinity)) - static_cast<double>(magnitude);
}

// Evenly spaced, and dense near zero.
std::vector<float> points(const Case& one) {
  std::vector<float> x;
  constexpr int kSteps = 100'000;
  for (int i = 0; i <= kSteps; ++i) {
    x.push_back(one.low + (one.high - one.low) * static_cast<float>(i) / kSteps);
  }
  for (float magnitude = 1e-6f; magnitude < 100; magnitude *= 1.001f) {
    if (magnitude <= one.high) x.push_back(magnitude);
    if (-magnitude >= one.low) x.push_back(-magnitude);
  }
  return x;
}

TEST(Map, FunctionsAreWithinTheirErrorBound) {
  for (const Case& one : kCases) {
    const std::vector<float> x = points(one);
    std::vector<float> y(x.size());
    map(one.map, x.data(), y.data(), x.size(), 1, 0);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double exact = one.exact(static_cast<double>(x[i]));
      const double error = std::abs(static_cast<double>(y[i]) - exact);
      if (error <= one.absolute || !(error / ulp(exact) > worst)) continue;
      worst = error / ulp(exact);
      where = x[i];
    }
    std::printf("%-12s %6.2f ulp at %g\n", one.name, worst, static_cast<double>(where));
    EXPECT_LE(worst, one.ulps) << one.name << " at " << where;
  }
}

TEST(Map, EveryLengthIsDoneAndNothingPastIt) {
  for (std::size_t n = 0; n < 70; ++n) {
    std::vector<float> x(n), y(n + 1, 7.0f);
    for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) - 20;
    map(Map::relu, x.data(), y.data(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], std::max(x[i], 0.0f));
    EXPECT_EQ(y[n], 7.0f);
  }
}

// Shrink and ThresholdedRelu are 0 within their bounds.
TEST(Map, NanStaysNan) {
  for (int i = 0; i <= static_cast<int>(Map::thresholded_relu); ++i) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float y = 0;
    map(static_cast<Map>(i), &nan, &y, 1, 1, 1);
    const bool bounded = i == static_cast<int>(Map::shrink) || i == static_cast<int>(Map::thresholded_relu);
    EXPECT_TRUE(bounded ? y == 0 : std::isnan(y)) << "function " << i;
  }
}

TEST(Map, InfinitiesAndZeroGiveTheLimits) {
  const auto at = [](Map function, float x) {
    float y = 0;
    map(function, &x, &y, 1, 1, 0);
    return y;
  };
  EXPECT_EQ(at(Map::exp, kInfinity), kInfinity);
  EXPECT_EQ(at(Map::exp, 89), kInfinity);
  EXPECT_EQ(at(Map::exp, -kInfinity), 0);
  EXPECT_GT(at(Map::exp, -103), 0);
  EXPECT_EQ(at(Map::log, 0), -kInfinity);
  EXPECT_EQ(at(Map::log, kInfinity), kInfinity);
  EXPECT_EQ(at(Map::log, 1), 0);
  EXPECT_TRUE(std::isnan(at(Map::log, -1)));
  EXPECT_EQ(at(Map::sigmoid, kInfinity), 1);
  EXPECT_EQ(at(Map::sigmoid, -kInfinity), 0);
  EXPECT_EQ(at(Map::tanh, -kInfinity), -1);
  EXPECT_EQ(at(Map::erf, kInfinity), 1);
  EXPECT_EQ(at(Map::gelu, kInfinity), kInfinity);
  for (const Map function : {Map::gelu, Map::tanh_gelu, Map::swish, Map::mish, Map::softplus}) {
    EXPECT_EQ(at(function, -kInfinity), 0) << static_cast<int>(function);
    EXPECT_EQ(at(function, 100), 100) << static_cast<int>(function);
  }
}

}  // namespace
}  // namespace anybit::kernels
