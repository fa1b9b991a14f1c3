// Finds a model's constants and the nodes that use them.
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "anybit/inspect.hpp"
#include "graph/model.hpp"
#include "ops/infer.hpp"

namespace anybit {

// Fills parameters, their sums, and data_files. Counts all graphs and functions, but not training
// information.
void count_parameters(const graph::Model& model, Inspection& result);

// Follows constants through operators that only rewrite them (DequantizeLinear, Cast, Transpose, …).
class ConstantFlow {
 public:
  explicit ConstantFlow(const ops::Inference& inference);
  // Nodes must come in the order of Inference::nodes.
  void pass(const ops::NodeFacts& facts);
  // Whether the value is computed from constants only.
  bool constant(const ops::Value& value) const { return behind_.contains(&value); }
  // The constants of which this node is the first consumer.
  std::vector<const graph::Tensor*> claim(const ops::NodeFacts& facts);

 private:
  // The constants behind a value: one tensor, or the sources of the inputs. Values share sources, so a chain
  // of Concat that doubles a constant takes memory linear in its nodes.
  struct Source {
    const graph::Tensor* tensor = nullptr;
    std::vector<Source*> parts = {};
    bool claimed = false;
  };

  Source* behind(const ops::Value& value) const;
  void add(const ops::Value* value, Source source);

  std::deque<Source> sources_;
  std::unordered_map<const ops::Value*, Source*> behind_;
  std::unordered_set<const graph::Tensor*> claimed_;
};

// The bytes of a tensor's values, in the model file or outside.
std::int64_t bytes_of(const graph::Tensor& tensor);

}  // namespace anybit
