// What is to be quantized in a graph, and with what: all that writing it down needs to know.
#pragma once

#include <string>
#include <vector>

#include "lower/parameters.hpp"

namespace anybit::lower {

// An input of a node.
struct Place {
  int node = -1, input = -1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// A value that the graph computes or is given.
struct Activation {
  std::string value;
  // With what it is quantized where it is made: everybody sees the quantized value. No scales: it is not.
  Parameters made;
  // Those who take it quantized in another way, or who alone do.
  struct Taken {
    Parameters parameters;
    std::vector<Place> places;
  };
  std::vector<Taken> taken;
};

// A constant: its codes take its place in these inputs.
struct Constant {
  std::string name;
  std::vector<Place> places;
  graph::Tensor codes;
  Parameters parameters;
};

// A product of weights with a value that is quantized while the model runs.
struct DynamicProduct {
  int node = -1;
  bool symmetric = false;  // of the value: around zero, not from end to end
  Constant weight;
};

struct GraphPlan {
  int node = -1;          // whose graph this is; -1: the model's own
  std::size_t which = 0;  // of the node's graphs
  std::vector<Activation> activations;
  std::vector<Constant> constants;
  std::vector<DynamicProduct> dynamic;
  std::vector<GraphPlan> inner;
};

}  // namespace anybit::lower
