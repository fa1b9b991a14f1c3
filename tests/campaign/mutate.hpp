// Models that are almost right: sizes, attributes, types, numbers, versions and edges of a real one, changed.
#pragma once

#include <cstdint>
#include <random>

#include "graph/model.hpp"

namespace anybit::campaign {

using Random = std::mt19937_64;

// Changes a few things; the same ones for the same numbers.
void mutate(graph::Model& model, Random& random);

}  // namespace anybit::campaign
