#include "passes/exact_step.hpp"

#include <cmath>

namespace anybit::passes {
namespace {

// a + b = high + low without error (Knuth, TAOCP 2, 4.2.2).
struct Pair {
  double high, low;
};
Pair two_sum(double a, double b) {
  const double high = a + b, from_b = high - a, from_a = high - from_b;
  return {high, (a - from_a) + (b - from_b)};
}
Pair two_product(double a, double b) {
  const double high = a * b;
  return {high, std::fma(a, b, -high)};
}

// The sign of a sum of doubles: partial sums that do not overlap (Shewchuk, Discrete & Computational Geometry
// 18, 1997), of which the last that is not 0 decides.
int sign_of(const std::vector<double>& terms) {
  std::vector<double> parts;
  for (double term : terms) {
    for (double& part : parts) {
      const auto [high, low] = two_sum(term, part);
      part = low;
      term = high;
    }
    parts.push_back(term);
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (*part != 0) return *part > 0 ? 1 : -1;
  }
  return 0;
}

}  // namespace

void ExactSum::add_product(double a, double b) {
  const auto [high, low] = two_product(a, b);
  terms_.push_back(high);
  if (low != 0) terms_.push_back(low);
}

int ExactSum::compare(double units, double step) const {
  std::vector<double> all = terms_;
  const auto [high, low] = two_product(-units, step);
  all.push_back(high);
  all.push_back(low);
  return sign_of(all);
}

double ExactSum::steps(double step) const {
  double sum = 0, magnitude = 0;
  for (const double term : terms_) {
    sum += term;
    magnitude += std::abs(term);
  }
  const double quotient = sum / step, floor = std::floor(quotient);
  const double doubt = 1e-12 * (magnitude / step + std::abs(quotient) + 1);
  const double from_middle = quotient - floor - 0.5;
  if (std::abs(from_middle) > doubt) return from_middle > 0 ? floor + 1 : floor;
  const int sign = compare(floor + 0.5, step);
  if (sign != 0) return sign > 0 ? floor + 1 : floor;
  return std::fmod(floor, 2) == 0 ? floor : floor + 1;
}

}  // namespace anybit::passes
