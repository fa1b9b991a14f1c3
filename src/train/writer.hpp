// Adds nodes to a graph whose backward nodes are being made. Types and shapes of what is added are inferred
// at once, so that rules can ask for them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/adder.hpp"
#include "train/ledger.hpp"

namespace anybit::train {

class Writer {
 public:
  // `forward`: the nodes whose gradients are wanted; they must not change.
  Writer(Ledger& ledger, std::span<const graph::Node> forward);

  struct Added {
    std::string_view op_type, domain;
    std::vector<std::string> inputs;
    std::vector<graph::Attribute> attributes = {};
    std::size_t outputs = 1;
  };
  // The outputs of a new node. `stem`: what their names begin with.
  std::vector<std::string> add(Added added, std::string_view stem);
  std::string add_one(Added added, std::string_view stem) { return add(std::move(added), stem)[0]; }
  // A node whose outputs have these facts.
  std::vector<std::string> add_known(graph::Node node, const std::vector<ops::Value>& outputs,
                                     std::string_view stem);

  // Constants; equal ones are created once. `number` is a scalar.
  std::string number(double value, ops::ElementType type);
  std::string integers(std::span<const std::int64_t> elements);
  // The shape of a value as a tensor. A Shape node stands next to the node that makes the value, which need
  // not live until the backward pass.
  std::string shape(const std::string& value);
  std::string zeros_like(const std::string& value);
  // A name for the value that no other result has and that a node of the backward graph makes.
  std::string own(const std::string& value, std::unordered_set<std::string>& taken);

  Ledger& ledger() { return ledger_; }
  // All nodes in their order.
  std::vector<graph::Node> assembled() &&;

  graph::Graph added;           // nodes of the backward graph, and constants
  std::optional<Error> failed;  // the first node that could not be added

 private:
  std::string constant(graph::Tensor tensor);
  void infer(const graph::Node& node);

  Ledger& ledger_;
  graph::Adder adder_;
  std::span<const graph::Node> forward_;
  std::map<std::string, std::size_t, std::less<>> makers_;  // of a value: the index of its node
  std::unordered_set<std::string> made_;                    // by nodes of the backward graph
  std::vector<graph::Node> front_;
  std::map<std::size_t, std::vector<graph::Node>> after_;  // Shape nodes by the index of the node before them
  std::map<std::string, std::string> shapes_, known_;      // of a value; of a constant's contents
};

}  // namespace anybit::train
