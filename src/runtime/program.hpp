// A graph that is ready to run: names are slot numbers, operators are looked up, constants are folded,
// weights are packed. Immutable once it is built; any number of contexts run it.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "ops/frame.hpp"
#include "ops/table.hpp"

namespace anybit::runtime {

struct Program;

// A value that the watcher sees.
struct Shown {
  int slot;
  std::size_t watched;  // its index in ExecutorOptions::watch
};

// For a step whose inputs depend on variables: its cached results stay valid until one of these variables is
// written (runtime/variables.hpp). An input is settled if it depends on variables and constants only. A whole
// step has only settled and constant inputs, so its outputs are cached; otherwise Descriptor::prepare's
// result is.
struct VariableCache {
  std::size_t number = 0;      // index among all such steps of a program and its inner programs
  std::vector<int> variables;  // behind the settled inputs: indices in Program::variables
  std::vector<bool> settled;   // by input: changes only when a variable is written
  bool whole = false;          // the outputs are cached; else the result of Descriptor::prepare
  bool needed = false;         // of a whole step: a step that is not whole uses an output
  std::vector<int> before;     // of a whole step: the whole steps that produce its inputs
};

struct Step {
  const graph::Node* node = nullptr;
  const ops::Descriptor* descriptor = nullptr;
  std::int64_t version = 1;
  std::string place;                    // for messages: "node '/conv1' (Conv)"
  std::vector<int> inputs, outputs;     // slots; -1: left out
  std::vector<int> captured;            // slots that its inner graphs use
  std::vector<int> released;            // slots whose last use it is
  std::vector<Shown> shown;             // of its outputs
  std::vector<ops::FinishStep> start;   // applied to the values of input 0 before the operator
  std::vector<ops::FinishStep> finish;  // applied to output 0 after the operator
  struct Inner {
    std::string attribute;
    std::unique_ptr<Program> program;
  };
  std::vector<Inner> graphs;
  std::shared_ptr<const ops::Prepared> prepared;
  std::unique_ptr<bool[]> constant;  // by input
  std::unique_ptr<VariableCache> of_variables;
  // Convert inputs to plain layout although the operator takes any layout: the output is larger, and its
  // consumers want it plain.
  bool plain_inputs = false;
};

struct Slot {
  std::string name = {};
  ops::ElementType type = {};  // of an input with a declared type, and of a variable; otherwise undefined
  bool is_constant = false;
  bool is_variable = false;               // or captured from an enclosing graph, where it is one
  bool escapes = false;                   // outlives the run, so it owns its memory
  int last_use = -1;                      // step
  ops::Datum value = {};                  // of a constant; an input's default
  std::vector<std::size_t> watched = {};  // indices in ExecutorOptions::watch
};

struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  struct Variable {
    int slot;
    bool updated;  // by each run, so results computed from it are not cached
  };
  std::vector<Variable> variables;     // of the outermost program, in the order of BuildOptions::variables
  std::size_t steps_of_variables = 0;  // of the outermost program, including inner ones
  struct Capture {
    int outer, inner;
  };
  std::vector<Capture> captures;
  std::vector<Shown> shown;  // inputs and constants, at the start of a run
  bool watched = false;      // a value in it, or in an inner graph, is watched
  struct Decoded {
    std::int64_t weights = 0, bytes = 0;      // after decoding
  } decoded;                                  // packed constants that were decoded at build time
  std::shared_ptr<const graph::Model> model;  // that it was built from; steps point to its nodes
  std::deque<graph::Node> made;               // nodes made by fusions
};

}  // namespace anybit::runtime
