// Rounds an exact real number to a quantized value: the tables of neurons do not depend on how sums are
// ordered or rounded (docs/logic.md).
#pragma once

#include <cstdint>
#include <vector>

namespace anybit::passes {

// The sum of these numbers; each product of two float32 numbers is one or two of them.
class ExactSum {
 public:
  void add(double number) { terms_.push_back(number); }
  void add_product(double a, double b);  // exact
  // round half to even of the sum divided by `step`, which is positive.
  double steps(double step) const;

 private:
  // The sign of the sum minus `units` · step.
  int compare(double units, double step) const;
  std::vector<double> terms_;
};

}  // namespace anybit::passes
