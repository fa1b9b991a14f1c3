// Makes the batch dimension of a model free: training runs several samples at once through models that were
// exported for one.
#pragma once

#include "graph/model.hpp"

namespace anybit::train {

// Inputs of length 1 along axis 0 become of any length, and constant shapes that begin with 1 (Reshape) keep
// the batch. The caller checks by running it that the result computes the same for each sample.
void free_batch(graph::Model& model);

}  // namespace anybit::train
