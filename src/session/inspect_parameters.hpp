// Where a model's constants are, and which nodes use them.
#pragma once

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "anybit/inspect.hpp"
#include "graph/model.hpp"
#include "ops/infer.hpp"

namespace anybit {

// Fills parameters, their sums, and data_files. All graphs and functions count; training information does
// not.
void count_parameters(const graph::Model& model, Inspection& result);

// Follows constants through the operators that only rewrite them (DequantizeLinear, Cast, Transpose, …).
class ConstantFlow {
 public:
  explicit ConstantFlow(const ops::Inference& inference);
  // Nodes must come in the order of Inference::nodes.
  void pass(const ops::NodeFacts& facts);
  // Whether constants alone make up a value.
  bool constant(const ops::Value& value) const { return behind_.contains(&value); }
  // The constants that this node is the first to use.
  std::vector<const graph::Tensor*> claim(const ops::NodeFacts& facts);

 private:
  // A constant, or what values made from constants are made from. Values share them: a chain of Concat that
  // doubles a constant is as long as its nodes, not as what it makes.
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

// Bytes that a tensor's values take, wherever they are kept.
std::int64_t bytes_of(const graph::Tensor& tensor);

}  // namespace anybit
