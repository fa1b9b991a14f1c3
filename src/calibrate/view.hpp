// How a layer with weights takes its input apart: into rows of numbers, each of which is multiplied with the
// weights. What collectors of channels go by.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.hpp"
#include "calibrate/collector.hpp"
#include "graph/model.hpp"

namespace anybit::calibrate {

struct View {
  std::int64_t axis = -1;  // that products sum over; from the end if negative
  // Of a convolution: its rows are the patches under the kernel, channel by channel as weights have them, for
  // each group apart. Null: rows lie along the axis.
  std::shared_ptr<const graph::Node> convolution = {};
  std::vector<std::int64_t> kernel = {};

  // "axis -1", "patches 3x3 pads 1 1 1 1 group 2": two of the same text are the same.
  std::string text() const;
};

// The rows of a value in a view. None of a value that the view does not fit: without that axis.
struct Rows {
  std::int64_t groups = 1, length = 0;
  std::int64_t count = 0;  // in each group
};
Result<Rows> rows_of(const View& view, const ops::Dims& dims);
// see(group, row) for each, with its numbers side by side; group after group, in a fixed order.
Result<void> each_row(const View& view, const Look& look, Workbench& bench,
                      const FunctionRef<std::int64_t, const float*>& see);

// Layers whose weights are constants: which value they take, and how. Those of graphs inside nodes are among
// them.
struct LayerInput {
  std::string value;
  View rows;      // by rows as products take them
  View channels;  // by channels of the value
};
std::vector<LayerInput> layer_inputs(const graph::Graph& graph);
// Of the products of a node with the weight that is its input `weight`; nothing if it is no such layer.
std::optional<LayerInput> layer_input(const graph::Node& node, int weight,
                                      std::span<const std::int64_t> weight_dims);

}  // namespace anybit::calibrate
