// What a recipe makes of a model: which nodes and values are quantized, to what, and why others are not. No
// numbers yet: those come from samples and weights.
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
#include "quantize/table.hpp"
#include "quantize/target.hpp"

namespace anybit::quantizing {

enum class Outcome {
  quantized,     // works on quantized values
  weights_only,  // takes quantized weights, works in float
  dynamic,       // its input is quantized when it runs
  moves,         // moves quantized values
  inside,        // a function of single elements between quantized values
  left,          // stays in float
};
std::string_view name_of(Outcome outcome);

struct NodeNote {
  std::string name, op;
  Outcome outcome = Outcome::left;
  std::string reason;  // why it is left, or less than it might be
  bool less = false;   // than the recipe asks for: worth a remark where a rule names it
  Scheme scheme;
};

// Values that are quantized in one way: with the same parameters, because nodes move them from one to the
// other; or each with parameters of its own, as it comes.
struct Cluster {
  Spec spec;
  std::vector<std::string> values;
  std::vector<std::string> sources = {};             // those whose statistics count
  std::optional<ops::Traits::Range> fixed = {};      // a range that needs no statistics
  std::optional<ops::Traits::Range> constants = {};  // of constants that are moved in among the values
};

// A value that is quantized: where it is made, for all; or only for those who take it so.
struct ValueNote {
  std::string value;
  int made = -1;  // a cluster
  struct Taken {
    int cluster;
    std::vector<lower::Place> places;
  };
  std::vector<Taken> taken = {};
};

// A constant that is quantized in these inputs.
struct ConstantNote {
  std::string name;
  const graph::Tensor* tensor = nullptr;
  Spec spec;                               // with its axis
  std::vector<std::int64_t> grouped = {};  // the dimensions that its values are grouped in
  std::vector<lower::Place> places = {};
  bool turned = false;             // `grouped` is for its scales alone: they lie along no axis of it
  std::string compute = {};        // "int8": products round their data on the fly; empty: float32
  bool apart = false;              // a runtime that makes one operator of it and the product would be wrong
  Rounder rounding = {};           // the refinement that chooses its roundings
  std::int64_t outputs_axis = -1;  // of that: the axis of the outputs
  std::optional<ReductionOrder> order = {};  // where kernels that saturate may multiply it
  bool bounded = false;                      // so that none of their sums does (reduce_range: pairs)
};

// A bias in units of input scale × weight scale.
struct BiasNote {
  std::string name;
  const graph::Tensor* tensor = nullptr;
  lower::Place place;
  int input_cluster = -1;  // of the data
  std::size_t weight = 0;  // in GraphNotes::constants
};

// A product whose data is quantized when it runs, to integers that it multiplies.
struct DynamicNote {
  int node = -1;
  bool symmetric = false, signed_codes = false;
  std::vector<std::size_t> weights;  // in GraphNotes::constants
};

struct GraphNotes {
  int node = -1;                // whose graph this is; -1: the model's own
  std::size_t which = 0;        // of the node's graphs
  std::string place;            // for reports: "node 'choice' (If), then_branch"
  std::string sign;             // a value that is made whenever the graph is entered; only of inner ones
  std::vector<NodeNote> nodes;  // as many as the graph has
  std::vector<Cluster> clusters;
  std::vector<ValueNote> values;
  std::vector<ConstantNote> constants;
  std::vector<BiasNote> biases;
  std::vector<DynamicNote> dynamic;
  std::vector<int> half;                // nodes that compute in float16
  std::vector<std::string> saturating;  // values that kernels take as int8 weights, without a bound
  std::vector<GraphNotes> inner;
};

struct Annotation {
  GraphNotes graph;
  std::vector<std::string> remarks;  // for the report
};

// `model` is verified and prepared, and must stay where it is as long as the result is used. An error if the
// recipe names an operator that the target does not run.
Result<Annotation> annotate(const graph::Model& model, const Recipe& recipe, const Target& target = {},
                            const Limits& limits = {});

}  // namespace anybit::quantizing
