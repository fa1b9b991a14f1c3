// Judges a comparison.
#pragma once

#include <set>
#include <string>

#include "anybit/compare.hpp"
#include "graph/model.hpp"

namespace anybit {

// `other` is the quantized model: its formats decide which preset to try next.
Result<Verdict> verdict_of(const Comparison& comparison, const std::vector<OutputPart>& parts,
                           const Model& other);

// Recurrent models take some outputs as inputs again: those with the type and shape of an input, beside
// others that have not. Empty if all outputs are like that.
std::set<std::string> state_outputs(const graph::Graph& graph);

}  // namespace anybit
