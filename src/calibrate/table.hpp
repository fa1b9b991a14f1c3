// The table of observers: algorithms that choose a range from statistics. One file each.
#pragma once

#include <span>
#include <string_view>

#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

// A uniform quantization grid: `levels` evenly spaced values that include zero. A symmetric grid extends
// equally to both sides of zero, with one more negative value if the number of levels is even.
struct Grid {
  int levels = 256;
  bool symmetric = false;
};

struct Range {
  float low = 0, high = 0;
};

// The share of the finite values outside of a range extended to zero, assuming values evenly distributed
// within their bin. Negative: unknown, if the statistics have no bins and the range clips something.
double share_outside(const Statistics& statistics, const Range& range);

struct Parameters {
  double percentile = 99.999;  // percentage of values that percentile keeps
};

struct Descriptor {
  std::string_view name;
  std::string_view summary;
  std::string_view needs = {};  // a collector in addition to the extent; empty: none
  // Returns zeros if there were no finite values. The range is finite with low ≤ high, and need not contain
  // zero.
  Range (*choose)(const Statistics& statistics, const Grid& grid, const Parameters& parameters) = nullptr;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// null if there is none
const Descriptor* find(std::string_view name);
// Like find(), with an error that suggests the nearest name.
Result<const Descriptor*> named(std::string_view name);

}  // namespace anybit::calibrate
