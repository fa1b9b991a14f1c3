// The functions of ai.anybit that a model calls: each is written into the model once.
#pragma once

#include <set>
#include <string>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

class Functions {
 public:
  explicit Functions(graph::Model& model) : model_(model) {}

  // The name under which a node calls it. The model's opset must be what the function needs, or newer.
  Result<std::string> quantize_dequantize(const formats::Use& use);
  Result<std::string> decode(const formats::Use& use);

 private:
  std::string add(graph::Function function);

  graph::Model& model_;
  std::set<std::string> added_;
};

}  // namespace anybit::lower
