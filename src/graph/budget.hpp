// The budget for work on a model before it runs: constant folding, function inlining. Counted in bytes,
// elements and nodes, never in time, so that results do not depend on the machine.
#pragma once

#include <cstdint>
#include <string>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::graph {

class Budget {
 public:
  // The budget is `limits` plus an allowance for the size of the model's own constants.
  explicit Budget(const Model& model, const Limits& limits = {});

  // Takes from the budget. Returns false, and takes nothing, if not enough is left.
  bool take_bytes(std::int64_t bytes) { return take(bytes_, bytes); }
  bool take_elements(std::int64_t elements) { return take(elements_, elements); }
  bool take_nodes(std::int64_t nodes) { return take(nodes_, nodes); }
  std::int64_t bytes_left() const { return bytes_; }

  // Records a node that was not folded or inlined because the budget was used up.
  void leave(const std::string& place);
  // A message about these nodes; empty if there are none.
  std::string remark() const;

 private:
  static bool take(std::int64_t& left, std::int64_t wanted) {
    if (wanted > left) return false;
    left -= wanted;
    return true;
  }

  Limits limits_;
  std::int64_t bytes_, elements_, nodes_;  // remaining
  std::int64_t left_alone_ = 0;
  std::string first_left_alone_;
};

// The error for a model whose functions expand to more nodes than the limit.
Error too_many_nodes(std::int64_t limit);

}  // namespace anybit::graph
