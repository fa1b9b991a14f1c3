// The graph as a report draws it: nodes that only change the format of a value (QuantizeLinear, …) are not
// drawn; they become the format at which their neighbours work.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "anybit/quantize.hpp"
#include "graph/model.hpp"

namespace anybit {

struct ReportGraph {
  struct Weight {
    std::string name, format;
  };

  std::vector<QuantizationReport::Node> nodes;
  std::vector<QuantizationReport::Tensor> tensors;  // values with constant scale and zero point
  std::unordered_map<std::string, Weight> weights;  // by the dequantized value
};

Result<ReportGraph> drawn_graph(const graph::Model& original, const Limits& limits);

}  // namespace anybit
