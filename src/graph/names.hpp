// The set of names used in a model, and new unique ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/model.hpp"

namespace anybit::graph {

// Nodes and values share one set, so a fresh name is unused by both.
class Names {
 public:
  Names() = default;
  // All names of a graph and the graphs inside its nodes; of the main graph and the training graphs.
  explicit Names(const Graph& graph);
  explicit Names(const Model& model);

  // Reserves a name; false if it is in use.
  bool add(std::string_view name) { return taken_.emplace(name).second; }
  // All names of the nodes and the graphs inside them.
  void add_all(const std::vector<Node>& nodes);
  bool has(const std::string& name) const { return taken_.contains(name); }
  // The name itself if it is unused, otherwise with a number: "x", "x_2". It is reserved.
  std::string fresh(std::string_view wanted);
  // Always with a number: "x_0", "x_1".
  std::string numbered(std::string_view stem);

 private:
  void add_all(const Graph& graph);
  // The first unused name from this number on.
  std::string next(std::string_view stem, std::size_t& number);

  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> numbers_;  // by stem: the next number to try
};

}  // namespace anybit::graph
