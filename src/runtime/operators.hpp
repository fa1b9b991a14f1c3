// The operators of a model's nodes.
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

  // An error if the node cannot run whatever its inputs are: nobody knows the operator, its opset does not
  // have it, or inputs or attributes are missing.
  Result<Operator> of(const graph::Node& node) const;
  // The first such error of a graph and of those inside it.
  Result<void> check(const graph::Graph& graph) const;

 private:
  const graph::Model& model_;
  const Limits limits_;
  std::unordered_set<std::string> functions_;  // that were not inlined
};

}  // namespace anybit::runtime
