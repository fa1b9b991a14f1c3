// Nodes in number formats that ONNX lacks: calls of functions that the model carries, each once; or, in a
// file for anybit alone, nodes of our operators.
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
    carried,   // the model has the functions. Its opset must be what they need, or newer
    left_out,  // nodes of our operators alone
    refused,   // neither: only what ONNX has
  };
  Functions(graph::Model& model, Mode mode) : model_(model), mode_(mode) {}

  const graph::Model& model() const { return model_; }

  // Makes `node` a QuantizeDequantize or a Decode of this use.
  Result<void> set_operator(graph::Node& node, std::string_view op, const formats::Use& use);
  // The same for every node of these operators that the graph has already.
  Result<void> take_operators(graph::Graph& graph);

 private:
  void add(graph::Function function);

  graph::Model& model_;
  const Mode mode_;
  std::set<std::string> added_;
};

}  // namespace anybit::lower
