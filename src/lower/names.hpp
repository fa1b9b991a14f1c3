// New names that nothing in a model has yet.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/model.hpp"

namespace anybit::lower {

class Names {
 public:
  explicit Names(const graph::Graph& graph) { add(graph); }

  // The name itself if it is free, else with a number behind it.
  std::string fresh(std::string_view wanted);

 private:
  void add(const graph::Graph& graph);
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> numbers_;  // the last that was put behind a wanted name
};

}  // namespace anybit::lower
