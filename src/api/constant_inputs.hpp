// Turns inputs of a model into constants.
#pragma once

#include <map>
#include <set>
#include <string>

#include "anybit/model.hpp"
#include "anybit/npy.hpp"

namespace anybit {

// The model with constants in place of these inputs. Numbers are converted to the input's type.
Result<Model> with_constant_inputs(const Model& model, const std::map<std::string, Array>& constants);

// The model with defaults turned into constants; its inputs are only those that are required or `kept`.
// Quantization and code generation use this form, so weights that older exporters list among the inputs count
// as weights.
Model with_constant_defaults(const Model& model, const std::set<std::string>& kept = {});

// Whether the model lists all its weights among the inputs, as older exporters do. If it lists only some,
// those are meant as inputs.
bool lists_weights_as_inputs(const Model& model);

}  // namespace anybit
