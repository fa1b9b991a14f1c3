// What can be told about a whole model before it runs: types, shapes, and multiply-accumulates of every node.
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
  // Whether value_info is believed where nothing is inferred, and compared where something is.
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
  std::string problem;                 // why it cannot work as it is; then its outputs are unknown
  std::string refusal;                 // why this version does not run it; its outputs are known
  std::shared_ptr<const Error> error;  // either of them, with its place; null if there is none
  bool malformed =
      false;           // `problem` holds for any inputs: some are missing, or the opset lacks the operator
  bool known = false;  // a descriptor, or a function of the model, tells about the operator
  bool multiplies = false;  // it has multiply-accumulates
  Dim macs;                 // of one run; that of a function is the sum over its body
  Dim runs = 1;             // how often one run of the model runs it; 0 in a branch that is not counted
};

// A declared shape that is not the inferred one, which holds.
struct Correction {
  std::size_t graph;  // in Inference::graphs; none inside functions, whose values differ from call to call
  std::string_view name;  // of the value, in the model
  Shape shape;            // the inferred one
  Error error;            // what is wrong
};

// Its values point to each other, and into the model: it moves, but is not copied.
struct Inference {
  Inference();
  // A deque takes memory when it is moved.
  Inference(Inference&&);             // NOLINT(performance-noexcept-move-constructor)
  Inference& operator=(Inference&&);  // NOLINT(performance-noexcept-move-constructor)
  ~Inference();

  std::vector<GraphFacts> graphs;  // the model's first; those inside nodes in the order of the nodes
  std::deque<NodeFacts> nodes;     // a node stands before those of its own graphs
  std::deque<Value> values;        // initializers, and inputs of graphs inside nodes
  // The numbers that are written of a sparse initializer; its value has the dimensions of the whole.
  std::unordered_map<const Value*, const graph::Tensor*> sparse;
  Values inputs, outputs;             // of the model
  std::vector<Error> problems;        // nodes that cannot work as they are; their outputs are unknown
  std::vector<Error> contradictions;  // values whose declared element type is not the inferred one
  std::vector<Correction> corrections;
};

// `model` is verified. An error if the options do not fit the model, or it stands for too many nodes.
Result<Inference> infer(const graph::Model& model, const InferOptions& options = {});

// An error if a node is malformed, in a branch that never runs, too: no runtime takes such a model.
Result<void> check_nodes(const Inference& inference);

}  // namespace anybit::ops
