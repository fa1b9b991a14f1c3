// One node computed by itself, from values that are known: no program, no plan, nothing kept for the next
// run. Constant folding needs no more.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/budget.hpp"
#include "ops/frame.hpp"
#include "ops/table.hpp"

namespace anybit::ops {

// What computing constants may use.
struct Resources {
  const std::shared_ptr<Memory>& memory;
  ThreadPool& pool;
  graph::Budget* budget = nullptr;  // for what is computed before the model runs; null: none

  // Counts constants that are about to be made. Each may be made from one that many nodes share: if more
  // would pass the limits, this answers false, and the nodes stay as they are.
  bool afford(std::int64_t bytes, std::int64_t elements) const {
    return !budget || (budget->take_elements(elements) && budget->take_bytes(bytes));
  }
};

// A node with its inputs.
struct Evaluation {
  const graph::Node& node;
  const Descriptor& descriptor;
  std::int64_t version;
  std::span<const Datum* const> inputs;  // null: left out
};

// The outputs; nothing if the node holds graphs or cannot be computed: whoever runs the model can say why.
// What the budget does not allow is noted there, under `place`.
std::optional<std::vector<Datum>> evaluate(const Evaluation& evaluation, const Resources& resources,
                                           const std::string& place);

// What the outputs will take, as far as that follows from the inputs before anything is computed.
std::int64_t expected_bytes(const Evaluation& evaluation);
// Multiply-accumulates, from the shapes of inputs and outputs; 0 if the operator has none.
std::int64_t macs_of(const Evaluation& evaluation, std::span<const Datum* const> outputs);
// Elements that it reads and products that it sums, from the shapes of its inputs alone. What it writes is
// known when it asks for memory.
std::int64_t expected_work(const Evaluation& evaluation);

}  // namespace anybit::ops
