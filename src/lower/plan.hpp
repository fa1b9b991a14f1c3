// What is to be quantized in a graph, and with what: all that writing it down needs to know.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/use.hpp"
#include "lower/parameters.hpp"

namespace anybit::lower {

// An input of a node.
struct Place {
  int node = -1, input = -1;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// How a value is quantized: by QuantizeLinear of an ONNX type, with these parameters; by the format, where
// there is no such type, on what is divided by the scale; or, where there are no scales, by the format, which
// finds its parameters as the values come.
struct Quantization {
  formats::Use use;
  Parameters parameters = {};
  // Of a format that has fewer values than the type: where they end.
  std::optional<std::pair<float, float>> clip = {};
  // Where the values of the type end: ONNX Runtime (1.31) makes integer operators of what lies between pairs
  // of 8-bit floats, and then refuses them. A Max at the lower end, which changes nothing, keeps a pair
  // apart.
  std::optional<float> lowest = {};

  bool has_scale() const { return !parameters.scales.empty(); }
  bool is_linear() const { return has_scale() && parameters.type != graph::ElementType::undefined; }
};

// A value that the graph computes or is given.
struct Activation {
  std::string value;
  // How it is quantized where it is made: everybody sees the quantized value. Nothing: it is not.
  std::optional<Quantization> made = {};
  // Those who take it quantized in another way, or who alone do.
  struct Taken {
    Quantization as;
    std::vector<Place> places;
  };
  std::vector<Taken> taken = {};
};

// A constant: its codes take its place in these inputs.
struct Constant {
  std::string name;
  std::vector<Place> places;
  formats::Use use = {};
  std::vector<std::int64_t> grouped = {};  // the dimensions in which its values were grouped
  std::vector<std::int64_t> dims = {};     // those that it has
  // Of an ONNX type, in `dims` or, where its scales lie over those, in `grouped`; or packed bytes of a
  // format.
  graph::Tensor codes = {};
  Parameters parameters = {};              // of DequantizeLinear; no scales: the codes are packed
  std::vector<graph::Tensor> fields = {};  // of packed codes: what groups share, named after it
  std::string compute = {};                // "int8": products round their data on the fly; empty: float32
  bool apart = false;  // a runtime that makes one operator of it and the product would be wrong

  bool is_linear() const { return !parameters.scales.empty(); }
};

// A product of weights with a value that is quantized while the model runs.
struct DynamicProduct {
  int node = -1;
  bool symmetric = false;         // of the value: around zero, not from end to end
  bool signed_codes = false;      // of the value: int8, where an operator takes that; else uint8
  std::vector<Constant> weights;  // one; of a recurrent layer that of the data, and that of the state
};

struct GraphPlan {
  int node = -1;          // whose graph this is; -1: the model's own
  std::size_t which = 0;  // of the node's graphs
  std::vector<Activation> activations;
  std::vector<Constant> constants;
  std::vector<DynamicProduct> dynamic;
  std::vector<int> half;  // nodes that compute in float16
  std::vector<GraphPlan> inner;
};

}  // namespace anybit::lower
