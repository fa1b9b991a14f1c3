// Chooses the nodes of a graph that are quantized with static ranges or by integer operators.
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "quantize/roles.hpp"

namespace anybit::quantizing {

struct ChosenNodes {
  std::vector<bool> is_static;  // nodes with static activations
  std::set<int> joined;         // Add nodes that become the bias of the preceding linear operator
  std::unordered_set<std::string> made, used;  // values produced or consumed by quantized nodes

  bool is_made(const std::string& value) const { return made.count(value) != 0; }
  bool is_taken(const std::string& value) const { return used.count(value) != 0; }
};

// Linear operators are quantized. Light operators (Add, pooling) are quantized only between Q and DQ: alone
// they would only lose precision. `named(i)`: a rule names node i or its type. Other nodes are marked as left
// in `parts`, with the reason in `notes`.
ChosenNodes choose_nodes(const Scope& scope, const std::vector<Scheme>& schemes,
                         const std::vector<bool>& named, std::vector<Part>& parts, GraphNotes& notes);

}  // namespace anybit::quantizing
