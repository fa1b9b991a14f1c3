// A graph made ready to run: names are numbers of slots, operators are looked up, constants are computed,
// weights are packed. Never changed once it is built; any number of contexts run it.
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

// A value that a watcher gets to see.
struct Shown {
  int slot;
  std::size_t watched;  // its number in ExecutorOptions::watch
};

// What a step has of variables, or of values that follow from them: it keeps what it makes of these until one
// is written (runtime/variables.hpp).
struct OfVariables {
  std::size_t number = 0;      // among all such steps of a program and of those inside it
  std::vector<int> variables;  // that its settled inputs come from: numbers in Program::variables
  std::vector<bool> settled;   // by input: it changes when a variable is written, and never otherwise
  bool whole = false;          // its outputs are kept; else what Descriptor::prepare makes
  bool needed = false;         // of a whole one: a step that is none uses an output
  std::vector<int> before;     // of a whole one: the whole steps that make its inputs
};

struct Step {
  const graph::Node* node = nullptr;
  const ops::Descriptor* descriptor = nullptr;
  std::int64_t version = 1;
  std::string place;                 // for messages: "node '/conv1' (Conv)"
  std::vector<int> inputs, outputs;  // slots; -1: left out
  std::vector<int> captured;         // slots that its graphs use
  std::vector<int> released;         // slots that nobody needs after it
  std::vector<Shown> shown;          // of its outputs
  struct Inner {
    std::string attribute;
    std::unique_ptr<Program> program;
  };
  std::vector<Inner> graphs;
  std::shared_ptr<const ops::Prepared> prepared;
  std::unique_ptr<bool[]> constant;  // by input
  std::unique_ptr<OfVariables> of_variables;
  // Its inputs are made plain, though the operator takes each layout: its output, which is wanted plain, is
  // larger.
  bool plain_inputs = false;
};

struct Slot {
  std::string name = {};
  ops::ElementType type = {};  // of an input that tells its own, and of a variable; undefined otherwise
  bool is_constant = false;
  bool is_variable = false;               // or captured from a graph around, where it is one
  bool escapes = false;                   // it outlives the run: its memory is its own
  int last_use = -1;                      // step
  ops::Datum value = {};                  // of a constant; an input's default
  std::vector<std::size_t> watched = {};  // its numbers in ExecutorOptions::watch
};

struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;
  struct Variable {
    int slot;
    bool updated;  // by each run: what follows from it is not worth keeping
  };
  std::vector<Variable> variables;     // of the outermost program: in the order of BuildOptions::variables
  std::size_t steps_of_variables = 0;  // here and inside, of the outermost program
  struct Capture {
    int outer, inner;
  };
  std::vector<Capture> captures;
  std::vector<Shown> shown;  // inputs and constants, when a run begins
  bool watched = false;      // a value in it, or in a graph inside it, is
  struct Decoded {
    std::int64_t weights = 0, bytes = 0;      // as they are now
  } decoded;                                  // packed constants that were decoded once
  std::shared_ptr<const graph::Model> model;  // that it was built from, whose nodes steps refer to
  std::deque<graph::Node> made;               // nodes of fusions
};

}  // namespace anybit::runtime
