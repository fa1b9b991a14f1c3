// Inputs of a model that become constants of it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "anybit/model.hpp"
#include "anybit/npy.hpp"

namespace anybit {

// The model without these inputs: it has their values instead. Numbers of another type than the input's are
// turned into it.
Result<Model> with_constant_inputs(const Model& model, const std::map<std::string, Array>& constants);

// The model with its defaults as constants, and only the inputs that must be given, or are `kept`.
// Quantization and generated code know it like this: weights that older exporters list among the inputs are
// weights.
Model with_constant_defaults(const Model& model, const std::set<std::string>& kept = {});

// Whether the model lists all its weights among the inputs, as older exporters do. If it lists some, those
// are meant to be inputs.
bool lists_weights_as_inputs(const Model& model);

}  // namespace anybit
