// What is to be quantized in a graph, and with what: all that writing it down needs to know.
#pragma once

#include <string>
#include <vector>

#include "formats/use.hpp"
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
  std::vector<std::int64_t> dims = {};  // those that it gets, if its codes lie in others
  std::string compute = {};             // "int8": products round their data on the fly; empty: float32
  bool apart = false;  // a runtime that makes one operator of it and the product would be wrong
};

// A product of weights with a value that is quantized while the model runs.
struct DynamicProduct {
  int node = -1;
  bool symmetric = false;         // of the value: around zero, not from end to end
  bool signed_codes = false;      // of the value: int8, where an operator takes that; else uint8
  std::vector<Constant> weights;  // one; of a recurrent layer that of the data, and that of the state
};

// A value that goes through a number format: for all who use it, or in these inputs.
struct CodedValue {
  std::string value;
  formats::Use use;
  bool made = false;
  std::vector<Place> places;
};

// A constant in packed codes of a number format.
struct CodedConstant {
  std::string name;
  std::vector<Place> places;
  formats::Use use;
  std::vector<std::int64_t> coded, dims;  // the dimensions it was coded in, and those that it has
  std::string compute;                    // "int8": products round their data on the fly
  graph::Tensor codes;
  std::vector<graph::Tensor> fields;  // what groups share, named after it
};

struct GraphPlan {
  int node = -1;          // whose graph this is; -1: the model's own
  std::size_t which = 0;  // of the node's graphs
  std::vector<Activation> activations;
  std::vector<Constant> constants;
  std::vector<DynamicProduct> dynamic;
  std::vector<CodedValue> coded_values;
  std::vector<CodedConstant> coded_constants;
  std::vector<int> half;  // nodes that compute in float16
  std::vector<GraphPlan> inner;
};

}  // namespace anybit::lower
