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
  // `portable`: the model carries the functions. Its opset must be what they need, or newer.
  Functions(graph::Model& model, bool portable) : model_(model), portable_(portable) {}

  // Makes `node` a QuantizeDequantize or a Decode of this use.
  Result<void> set_operator(graph::Node& node, std::string_view op, const formats::Use& use);

 private:
  void add(graph::Function function);

  graph::Model& model_;
  const bool portable_;
  std::set<std::string> added_;
};

}  // namespace anybit::lower
