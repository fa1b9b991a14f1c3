// Static inference on a whole model: types, shapes, and multiply-accumulates of every node.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "anybit/limits.hpp"
#include "graph/model.hpp"
#include "ops/op.hpp"

namespace anybit::ops {

struct InferOptions {
  std::map<std::string, std::vector<std::int64_t>> input_shapes;  // by graph input
  std::map<std::string, std::int64_t> dims;                       // by symbolic dimension
  Limits limits = {};  // of nodes that are looked at, with those that functions stand for
  // Whether value_info is used where nothing is inferred, and compared where something is.
  bool value_info = true;
};

struct GraphFacts {
  const graph::Graph* graph;
  std::string place;  // "" for the model's own, "node '/if' (If), then_branch" for those inside nodes
  std::size_t depth = 0;
  std::vector<const Value*> inputs = {};  // in Inference::values or ::inputs
  bool ruled_out = false;                 // a branch that is not taken, or inside one
};

struct NodeFacts {
  const graph::Node* node = nullptr;
  std::size_t graph = 0;             // in Inference::graphs
  std::vector<const Value*> inputs;  // in Inference::values or ::inputs, or outputs of other nodes
  Values outputs;
  std::string problem;                 // why it is invalid; then its outputs are unknown
  std::string refusal;                 // why anybit does not run it; its outputs are known
  std::shared_ptr<const Error> error;  // either of them, with its place; null if neither
  bool malformed =
      false;           // `problem` holds for any inputs: some are missing, or the opset lacks the operator
  bool known = false;  // the operator has a descriptor, or a function of the model
  bool multiplies = false;  // it has multiply-accumulates
  Dim macs;                 // per run of the node; for a function, the sum over its body
  Dim runs = 1;             // per run of the model; 0 in a branch that is not counted
};

// A declared shape that differs from the inferred one. The inferred one is used.
struct Correction {
  std::size_t graph;  // in Inference::graphs; none inside functions, whose values differ from call to call
  std::string_view name;  // of the value, in the model
  Shape shape;            // the inferred one
  Error error;            // what is wrong
};

// Values point to each other and into the model: it can be moved, but not copied.
struct Inference {
  Inference();
  // Moving a deque allocates memory.
  Inference(Inference&&);             // NOLINT(performance-noexcept-move-constructor)
  Inference& operator=(Inference&&);  // NOLINT(performance-noexcept-move-constructor)
  ~Inference();

  std::vector<GraphFacts> graphs;  // the model's first, then subgraphs in node order
  std::deque<NodeFacts> nodes;     // a node comes before those of its subgraphs
  std::deque<Value> values;        // initializers, and inputs of subgraphs
  // The stored values of a sparse initializer; its Value has the dense shape.
  std::unordered_map<const Value*, const graph::Tensor*> sparse;
  Values inputs, outputs;             // of the model
  std::vector<Error> problems;        // invalid nodes; their outputs are unknown
  std::vector<Error> contradictions;  // values whose declared element type is not the inferred one
  std::vector<Correction> corrections;
};

// `model` is verified. An error if the options do not fit the model, or if function calls expand to too many
// nodes.
Result<Inference> infer(const graph::Model& model, const InferOptions& options = {});

// An error if a node is malformed, even in a branch that never runs: no runtime accepts such a model.
Result<void> check_nodes(const Inference& inference);

}  // namespace anybit::ops
