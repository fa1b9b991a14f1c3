// The plan for one graph: which values and constants are quantized, and with which parameters.
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

// What training may learn of integer parameters besides the values of weights (training_form.hpp).
enum class Learned : std::uint8_t { nothing, step, step_and_zero_point };

// How an activation is quantized: by QuantizeLinear of an ONNX type with these parameters; if there is no
// such type, by the format after division by the scale; without scales, by the format with parameters found
// at run time.
struct Quantization {
  formats::Use use;
  Parameters parameters = {};
  // The range of a format that has fewer values than its ONNX type.
  std::optional<std::pair<float, float>> clip = {};
  // The lowest value of an 8-bit float type. ONNX Runtime (1.31) fuses operators between Q/DQ pairs of 8-bit
  // floats into integer operators, and then rejects them. A Max with this value changes nothing and prevents
  // the fusion.
  std::optional<float> lowest = {};
  std::string cluster = {};  // values with this name share their parameters
  Learned learned = Learned::nothing;

  bool has_scale() const { return !parameters.scales.empty(); }
  bool is_linear() const { return has_scale() && parameters.type != graph::ElementType::undefined; }
};

// An input or intermediate value of the graph.
struct Activation {
  std::string value;
  // Quantization at its producer, for all consumers; std::nullopt: none.
  std::optional<Quantization> made = {};
  // Consumers that take it quantized in another way, or that are the only ones to take it quantized.
  struct Taken {
    Quantization as;
    std::vector<Place> places;
  };
  std::vector<Taken> taken = {};
};

// A quantized constant, which replaces these inputs.
struct Constant {
  std::string name;
  std::vector<Place> places;
  formats::Use use = {};
  std::vector<std::int64_t> grouped = {};  // the dimensions in which it was quantized
  std::vector<std::int64_t> dims = {};     // its own dimensions
  // The values: of an ONNX type, in `dims` or, if its scales require it, in `grouped`; or packed bytes of a
  // format.
  graph::Tensor quantized = {};
  Parameters parameters = {};              // of DequantizeLinear; without scales, `quantized` is packed
  std::vector<graph::Tensor> fields = {};  // of packed values: the shared parameters, by name
  std::string compute = {};  // "int8": the operator quantizes its activations on the fly; empty: float32
  // prevent runtimes from fusing its DequantizeLinear, where the fused operator would be wrong
  bool apart = false;
  Learned learned = Learned::nothing;
  // Of a bias in units of input scale × weight scale: whose scales these are.
  struct Units {
    std::string cluster;  // Quantization::cluster of the input
    Place weight;         // the first place of the weight
  };
  std::optional<Units> units = {};

  bool is_linear() const { return !parameters.scales.empty(); }
};

// A linear or recurrent layer whose activations are quantized at run time.
struct DynamicLayer {
  int node = -1;
  bool symmetric = false;         // symmetric activations, otherwise asymmetric
  bool signed_data = false;       // int8 activations where the operator supports them, otherwise uint8
  std::vector<Constant> weights;  // one; for recurrent layers input and recurrence weights
};

struct GraphPlan {
  int node = -1;          // the node that holds this subgraph; -1: the main graph
  std::size_t which = 0;  // index among the subgraphs of that node
  std::vector<Activation> activations;
  std::vector<Constant> constants;
  std::vector<DynamicLayer> dynamic;
  std::vector<int> half;  // nodes that compute in float16
  std::vector<GraphPlan> inner;
};

}  // namespace anybit::lower
