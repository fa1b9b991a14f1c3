// Judges a comparison.
#pragma once

#include "anybit/compare.hpp"

namespace anybit {

// `other` is the quantized model: its formats decide which preset to try next.
Result<Verdict> verdict_of(const Comparison& comparison, const std::vector<OutputPart>& parts,
                           const Model& other);

}  // namespace anybit
