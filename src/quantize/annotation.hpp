// The annotation of a model by a recipe: which nodes and values are quantized, in which format, and why
// others are not. It has no parameters yet; those follow from calibration and weights.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "anybit/limits.hpp"
#include "graph/model.hpp"
#include "lower/plan.hpp"
#include "ops/traits.hpp"
#include "quantize/match.hpp"
#include "quantize/reduce_range.hpp"
#include "quantize/target.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {

enum class Outcome {
  quantized,     // computes on quantized values
  weights_only,  // quantized weights, float computation
  dynamic,       // activations are quantized at run time
  pass_through,  // passes quantized values through
  fused,         // elementwise, fused between Q and DQ
  left,          // stays in float
};
std::string_view name_of(Outcome outcome);

struct NodeNote {
  std::string name, op;
  Outcome outcome = Outcome::left;
  std::string reason;       // why it is left in float, or quantized less than requested
  bool less = false;        // less than requested: worth a remark if a rule names it
  std::string choice = {};  // why it got its scheme, if the recipe left a choice
  Scheme scheme;
};

// Values that share quantization parameters because pass-through nodes connect them; or values with
// parameters found at run time.
struct Cluster {
  Spec spec;
  std::vector<std::string> values;
  std::vector<std::string> sources = {};         // values whose statistics determine the range
  std::optional<ops::Traits::Range> fixed = {};  // a range that needs no calibration
  // range of constants that pass-through nodes add to the values
  std::optional<ops::Traits::Range> constants = {};
};

// A quantized value: at its producer, for all consumers; or only for some consumers.
struct ValueNote {
  std::string value;
  int made = -1;  // index of a cluster
  struct Taken {
    int cluster;
    std::vector<lower::Place> places;
  };
  std::vector<Taken> taken = {};
};

// A constant that is quantized at these inputs.
struct ConstantNote {
  std::string name;
  const graph::Tensor* tensor = nullptr;
  Spec spec;                               // including its axis
  std::vector<std::int64_t> grouped = {};  // the dimensions in which it is quantized
  std::vector<lower::Place> places = {};
  bool turned = false;       // `grouped` defines the scales only; the values keep their own dimensions
  std::string compute = {};  // "int8": the operator quantizes its activations on the fly; empty: float32
  // prevent runtimes from fusing its DequantizeLinear, where the fused operator would be wrong
  bool apart = false;
  Rounder rounding = {};                     // the refinement that rounds it
  std::int64_t outputs_axis = -1;            // for `rounding`: the axis of the output channels
  std::optional<ReductionOrder> order = {};  // set if saturating kernels may multiply it
  bool bounded = false;                      // bound pairs so that no sum saturates (reduce_range: pairs)
};

// A bias with scale = input scale × weight scale.
struct BiasNote {
  std::string name;
  const graph::Tensor* tensor = nullptr;
  lower::Place place;
  int input_cluster = -1;  // cluster of the activation
  std::size_t weight = 0;  // index into GraphNotes::constants
};

// A node with dynamically quantized activations.
struct DynamicNote {
  int node = -1;
  bool symmetric = false, signed_data = false;
  std::vector<std::size_t> weights;  // indices into GraphNotes::constants
};

struct GraphNotes {
  int node = -1;          // the node that holds this subgraph; -1: the main graph
  std::size_t which = 0;  // index among the subgraphs of that node
  std::string place;      // for reports: "node 'choice' (If), then_branch"
  std::string sign;       // a value that is computed whenever the subgraph runs; empty for the main graph
  std::vector<NodeNote> nodes;  // one per node of the graph
  std::vector<Cluster> clusters;
  std::vector<ValueNote> values;
  std::vector<ConstantNote> constants;
  std::vector<BiasNote> biases;
  std::vector<DynamicNote> dynamic;
  std::vector<int> half;                // nodes that compute in float16
  std::vector<std::string> saturating;  // activations in the role of int8 weights, which are not bounded
  std::vector<GraphNotes> inner;
};

// The subgraph of `graph` that the notes are about.
const graph::Graph& subgraph_of(const graph::Graph& graph, const GraphNotes& notes);

struct Annotation {
  GraphNotes graph;
  std::vector<std::string> remarks;  // for the report
};

// `model` must be verified and prepared, and must outlive the result. An error if the recipe names an
// operator that the target does not run.
Result<Annotation> annotate(const graph::Model& model, const Recipe& recipe, const Target& target = {},
                            const Limits& limits = {});

}  // namespace anybit::quantizing
