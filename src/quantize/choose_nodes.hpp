// Which nodes of a graph are quantized with ranges, or by integer operators.
#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "quantize/roles.hpp"

namespace anybit::quantizing {

struct ChosenNodes {
  std::vector<bool> is_static;                 // nodes whose data is quantized ahead of time
  std::set<int> joined;                        // nodes that add a bias to the product before them
  std::unordered_set<std::string> made, used;  // values that quantized nodes make, or take

  bool is_made(const std::string& value) const { return made.count(value) != 0; }
  bool is_taken(const std::string& value) const { return used.count(value) != 0; }
};

// Products are quantized; what only passes values on (Add, pooling) is, too, where it lies between quantized
// values: by itself it would only lose precision. `named(i)`: a rule names node i, or its type. Those that
// are not chosen are left in `parts`, with the reason in `notes`.
ChosenNodes choose_nodes(const Scope& scope, const std::vector<Scheme>& schemes,
                         const std::vector<bool>& named, std::vector<Part>& parts, GraphNotes& notes);

}  // namespace anybit::quantizing
