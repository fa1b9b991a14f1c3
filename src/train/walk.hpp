// Walks back through the nodes of one graph and adds the gradients of their inputs, by the operators' rules.
#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "train/writer.hpp"

namespace anybit::train {

class Walk {
 public:
  // `depth`: of graphs inside nodes.
  explicit Walk(Writer& writer, int depth = 0) : writer_(writer), ledger_(writer.ledger()), depth_(depth) {}

  // Adds to the gradient of a value; summed over the axes along which the value was broadcast.
  void add(const std::string& value, std::string gradient);
  // Empty: none so far.
  std::string of(const std::string& value) const;
  // All gradients of the nodes' inputs, from those of their outputs. Afterwards ends()[i] is the number of
  // backward nodes up to the last one of node i.
  Result<void> back(std::span<const graph::Node> nodes);
  const std::vector<std::size_t>& ends() const { return ends_; }

 private:
  Result<void> back(const graph::Node& node);
  Result<void> back_if(const graph::Node& node);
  Result<graph::Graph> branch_of_if(const graph::Node& node, const graph::Graph& branch,
                                    const std::vector<std::string>& wanted);
  std::string summed(const std::string& gradient, const std::string& value);

  Writer& writer_;
  Ledger& ledger_;
  int depth_;
  std::unordered_map<std::string, std::string> gradients_;
  std::vector<std::size_t> ends_;
};

}  // namespace anybit::train
