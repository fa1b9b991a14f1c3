// Computes one node from known values, for constant folding: no program, no plan, no state between runs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/budget.hpp"
#include "ops/frame.hpp"
#include "ops/table.hpp"

namespace anybit::ops {

// Resources for constant folding.
struct Resources {
  const std::shared_ptr<Memory>& memory;
  ThreadPool& pool;
  graph::Budget* budget = nullptr;  // limits of constant folding; null: none

  // Charges a constant about to be computed. Many nodes may derive constants from the same one: if another
  // would exceed the limits, this returns false, and the nodes stay unfolded.
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

// The outputs; nothing if the node has subgraphs or cannot be computed: running the model reports the reason.
// Exceeding the budget is recorded in the budget, under `place`.
std::optional<std::vector<Datum>> evaluate(const Evaluation& evaluation, const Resources& resources,
                                           const std::string& place);

// Bytes of the outputs, as far as they follow from the inputs before anything is computed.
std::int64_t expected_bytes(const Evaluation& evaluation);
// Multiply-accumulates, from the shapes of inputs and outputs; 0 if the operator has none.
std::int64_t macs_of(const Evaluation& evaluation, std::span<const Datum* const> outputs);
// Elements read and multiply-accumulates, from the input shapes alone. The size of the outputs is known when
// the operator allocates them.
std::int64_t expected_work(const Evaluation& evaluation);

}  // namespace anybit::ops
