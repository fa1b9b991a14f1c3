// Inputs that have a default: a caller may leave them out.
#pragma once

#include "anybit/model.hpp"

namespace anybit {

// The model with its defaults as constants, and only the inputs that must be given. Quantization and
// generated code know it like this: weights that older exporters list among the inputs are weights.
Model with_constant_defaults(const Model& model);

}  // namespace anybit
