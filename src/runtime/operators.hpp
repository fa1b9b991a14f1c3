// Looks up the operators of a model's nodes.
#pragma once

#include <string>
#include <unordered_set>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"
#include "ops/table.hpp"

namespace anybit::runtime {

struct Operator {
  const ops::Descriptor* descriptor;
  std::int64_t version;
};

class Operators {
 public:
  // The model must outlive this.
  Operators(const graph::Model& model, const Limits& limits);

  // An error if the node can run with no inputs at all: the operator is unknown, is missing from its opset,
  // or lacks inputs or attributes.
  Result<Operator> of(const graph::Node& node) const;
  // The first such error in a graph and in the graphs inside it.
  Result<void> check(const graph::Graph& graph) const;

 private:
  const graph::Model& model_;
  const Limits limits_;
  std::unordered_set<std::string> functions_;  // not inlined
};

}  // namespace anybit::runtime
