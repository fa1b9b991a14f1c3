// Nodes in number formats that ONNX lacks: calls of functions that are added to the model once each, or nodes
// of anybit's own operators.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

class Functions {
 public:
  enum class Mode : std::uint8_t {
    carried,   // add the functions to the model, whose opset must be at least theirs
    left_out,  // use anybit's own operators, without functions
    refused,   // allow neither: only standard ONNX
  };
  Functions(graph::Model& model, Mode mode) : model_(model), mode_(mode) {}

  const graph::Model& model() const { return model_; }

  // Makes `node` a QuantizeDequantize or Decode in this format.
  Result<void> set_operator(graph::Node& node, std::string_view op, const formats::Use& use);
  // Does the same for all such nodes that the graph already has.
  Result<void> take_operators(graph::Graph& graph);

 private:
  void add(graph::Function function);
  Result<void> set_neurons(graph::Node& node, const graph::Graph& graph);

  graph::Model& model_;
  const Mode mode_;
  std::set<std::string> added_;
};

}  // namespace anybit::lower
