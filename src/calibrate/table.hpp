// The observers: ways to choose a range from what calibration found. One file each.
#pragma once

#include <span>
#include <string_view>

#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

// The values that a quantized tensor can have: `levels` of them, evenly spaced, zero among them
// (docs/formats.md#affine). A symmetric grid reaches as far below zero as above; if `levels` is even, it has
// one more value below.
struct Grid {
  int levels = 256;
  bool symmetric = false;
};

struct Range {
  float low = 0, high = 0;
};

// The share of the finite values that lie outside of a range and zero; within a bin they count as evenly
// spread. Negative: not known, for statistics without bins of a range that cuts something off.
double share_outside(const Statistics& statistics, const Range& range);

struct Parameters {
  double percentile = 99.999;  // of values that percentile keeps
};

struct Descriptor {
  std::string_view name;
  std::string_view summary;
  std::string_view needs = {};  // a collector (collector_table.hpp) beside the extent; empty: none
  // Zeros if nothing finite was seen. A range may lie on one side of zero; it is finite, and low ≤ high.
  Range (*choose)(const Statistics& statistics, const Grid& grid, const Parameters& parameters) = nullptr;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();
// null if there is none of that name.
const Descriptor* find(std::string_view name);
// The same with an error that offers the nearest name.
Result<const Descriptor*> named(std::string_view name);

}  // namespace anybit::calibrate
