// Names that are taken in a model, and new ones that are not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/model.hpp"

namespace anybit::graph {

// Nodes and values share one set: a name that is new for both is new for either.
class Names {
 public:
  Names() = default;
  // All of the graph and of those inside its nodes; of the model's graph and its training graphs.
  explicit Names(const Graph& graph);
  explicit Names(const Model& model);

  // Takes a name; false if it is taken already.
  bool add(std::string_view name) { return taken_.emplace(name).second; }
  // All of the nodes and of graphs inside them.
  void add_all(const std::vector<Node>& nodes);
  bool has(const std::string& name) const { return taken_.contains(name); }
  // The name itself if it is free, else with a number after it: "x", "x_2". Taken from then on.
  std::string fresh(std::string_view wanted);
  // Always with a number: "x_0", "x_1".
  std::string numbered(std::string_view stem);

 private:
  void add_all(const Graph& graph);
  // The first free name from this number on.
  std::string next(std::string_view stem, std::size_t& number);

  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::size_t> numbers_;  // the next to be tried after a name
};

}  // namespace anybit::graph
