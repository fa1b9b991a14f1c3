// Checks the types and shapes that a model declares against the inferred ones.
#pragma once

#include <vector>

#include "anybit/limits.hpp"
#include "base/error.hpp"
#include "graph/model.hpp"

namespace anybit {

// A contradicting type is an error, since it is unclear which one is right. A contradicting shape is
// corrected, as in other runtimes, and reported in the result. Declarations of inputs are the model's
// contract and stay.
Result<std::vector<Error>> correct_declarations(graph::Model& model, const Limits& limits);

}  // namespace anybit
