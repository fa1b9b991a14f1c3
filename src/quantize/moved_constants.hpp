// Constants that nodes move in among quantized values: a class token of Concat, the value of Pad.
#pragma once

#include <set>

#include "quantize/roles.hpp"

namespace anybit::quantizing {

// Gives every cluster the range of the constants that the nodes `carried` bring into it: no sample shows
// them where the cluster is made, and clipped they would change the result of every run.
void note_moved_constants(const Scope& scope, const std::vector<Part>& parts, const std::set<int>& carried,
                          GraphNotes& notes);

}  // namespace anybit::quantizing
