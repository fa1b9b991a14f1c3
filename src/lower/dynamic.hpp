// Products whose data is quantized when the model runs: DynamicQuantizeLinear, MatMulInteger or ConvInteger,
// and the scales behind them, as ONNX's own operators.
#pragma once

#include <map>

#include "lower/names.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

// True if there is a form for this node. `weight`: its constant factor.
bool has_dynamic_form(const graph::Node& node, const graph::Tensor& weight);

class DynamicWriter {
 public:
  DynamicWriter(graph::Graph& graph, Names& names) : graph_(graph), names_(names) {}

  // What stands in the place of `node`, whose inputs have their final names.
  std::vector<graph::Node> write(const graph::Node& node, const DynamicProduct& product);

 private:
  struct Codes {
    std::string value, scale, zero_point;  // zero_point: empty if it is 0
  };
  std::string constant(graph::Tensor tensor, const std::string& name);
  std::string number(float value, const std::string& name);
  std::string scales(const graph::Node& node, const DynamicProduct& product);
  Codes weight(const graph::Node& node, const DynamicProduct& product);
  Codes data(const std::string& value, bool symmetric, bool conv, std::vector<graph::Node>& nodes);
  std::string spread(const std::string& bias, std::size_t axes, const std::string& about,
                     std::vector<graph::Node>& nodes);
  std::string apply(const char* op, std::vector<std::string> inputs, const std::string& about,
                    std::vector<graph::Node>& nodes, std::string output = {});

  graph::Graph& graph_;
  Names& names_;
  std::map<std::string, Codes> weights_, data_;  // written already: nodes share them
};

}  // namespace anybit::lower
