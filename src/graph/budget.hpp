// What work on a model before it runs may cost: folding constants, inlining functions. Counted in bytes,
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
  // `limits`, and what the model's own constants add to them.
  explicit Budget(const Model& model, const Limits& limits = {});

  // Counts so much more. False, and nothing is counted, if that would pass a limit.
  bool take_bytes(std::int64_t bytes) { return take(bytes_, bytes); }
  bool take_elements(std::int64_t elements) { return take(elements_, elements); }
  bool take_nodes(std::int64_t nodes) { return take(nodes_, nodes); }
  std::int64_t bytes_left() const { return bytes_; }

  // Notes a node that stays as it is because a limit was reached.
  void leave(const std::string& place);
  // About those, for people; empty if there are none.
  std::string remark() const;

 private:
  static bool take(std::int64_t& left, std::int64_t wanted) {
    if (wanted > left) return false;
    left -= wanted;
    return true;
  }

  Limits limits_;
  std::int64_t bytes_, elements_, nodes_;  // that are left
  std::int64_t left_alone_ = 0;
  std::string first_left_alone_;
};

// The error of a model whose functions stand for more nodes than the limit.
Error too_many_nodes(std::int64_t limit);

}  // namespace anybit::graph
