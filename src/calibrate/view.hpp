// How a layer with weights reads its input: as rows of numbers, each of which is multiplied with the weights.
// Used by collectors of layer inputs.
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
  std::int64_t axis = -1;  // reduction axis; negative: from the end
  // For a convolution: the rows are the im2col patches, in the layout of the weights, per group. Null: the
  // rows lie along the axis.
  std::shared_ptr<const graph::Node> convolution = {};
  std::vector<std::int64_t> kernel = {};

  // "axis -1", "patches 3x3 pads 1 1 1 1 group 2": equal texts mean equal views.
  std::string text() const;
};

// The rows of a value in a view; none if the value does not have the axis.
struct Rows {
  std::int64_t groups = 1, length = 0;
  std::int64_t count = 0;  // per group
};
Result<Rows> rows_of(const View& view, const ops::Dims& dims);
// Calls see(group, row) for each row with contiguous elements, group by group, in a fixed order.
Result<void> each_row(const View& view, const Look& look, Workbench& bench,
                      const FunctionRef<std::int64_t, const float*>& see);

// The input of a layer with constant weights, in the main graph or a subgraph, and its views.
struct LayerInput {
  std::string value;
  View rows;      // rows that are multiplied with the weights
  View channels;  // channels of the value
};
std::vector<LayerInput> layer_inputs(const graph::Graph& graph);
// Returns the input that a node multiplies with the weight at its input `weight`; std::nullopt if it is not
// such a layer.
std::optional<LayerInput> layer_input(const graph::Node& node, int weight,
                                      std::span<const std::int64_t> weight_dims);

}  // namespace anybit::calibrate
