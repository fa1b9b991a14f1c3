// What a model declares of its values, against what is inferred.
#pragma once

#include <vector>

#include "anybit/limits.hpp"
#include "base/error.hpp"
#include "graph/model.hpp"

namespace anybit {

// Types that contradict are an error: nobody can tell which is meant. Shapes that do are corrected, as other
// runtimes do; what is returned tells of each. Declarations of inputs are the model's contract and stay.
Result<std::vector<Error>> correct_declarations(graph::Model& model, const Limits& limits);

}  // namespace anybit
