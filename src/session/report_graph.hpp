// The nodes of a model as a report draws them: what only changes the format of a value (QuantizeLinear, …) is
// no node of its own, but a format that its neighbours work with.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "anybit/quantize.hpp"
#include "graph/model.hpp"

namespace anybit {

struct DrawnGraph {
  struct Weight {
    std::string name, format;
  };

  std::vector<QuantizationReport::Node> nodes;
  std::vector<QuantizationReport::Tensor> tensors;  // values with a grid that the file tells
  std::unordered_map<std::string, Weight> weights;  // by the value that a constant is decoded to
};

Result<DrawnGraph> drawn_graph(const graph::Model& original, const Limits& limits);

}  // namespace anybit
