// How far the outputs of layers are from their own when inputs and weights are rounded after a scaling of the
// input channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/array.hpp"
#include "passes/affine.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {

// Some rows of a value, and the extremes of its channels, the last axis, over all rows.
struct SeenRows {
  static constexpr std::int64_t kRowsOfSample = 16, kMostRows = 128;

  std::vector<float> low, high;  // empty: it has no such rows
  std::vector<float> rows;
  std::int64_t count = 0;  // of rows that are kept

  void see(const ops::Datum& value);
};

// The squared error of the layers' outputs relative to the outputs.
double smoothing_error(const SeenRows& seen, std::span<const passes::Linear* const> layers,
                       const std::vector<double>& factors, const LayerBits& bits);

}  // namespace anybit::quantizing
