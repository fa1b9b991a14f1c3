// Constants that pass-through nodes add to quantized values: a class token in a Concat, the value of a Pad.
#pragma once

#include <set>

#include "quantize/roles.hpp"

namespace anybit::quantizing {

// Extends every cluster by the range of the constants that the nodes `carried` add to it. The statistics of
// the cluster's sources do not include them, and clipping them would affect every run.
void note_moved_constants(const Scope& scope, const std::vector<Part>& parts, const std::set<int>& carried,
                          GraphNotes& notes);

}  // namespace anybit::quantizing
