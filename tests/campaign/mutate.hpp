// Mutates real models into almost valid ones: sizes, attributes, types, numbers, versions and edges change.
#pragma once

#include <cstdint>
#include <random>

#include "graph/model.hpp"

namespace anybit::campaign {

using Random = std::mt19937_64;

// Makes a few changes; deterministic for a given state of `random`.
void mutate(graph::Model& model, Random& random);

}  // namespace anybit::campaign
