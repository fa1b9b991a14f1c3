// Recipes in the dictionaries of other tools, read as they stand.
#pragma once

#include <yaml-cpp/yaml.h>

#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// MASE's {"by": "type", "default": {"config": {"name": None}}, "linear": {"config": {"name": "integer",
// "data_in_width": 8, …}}}.
bool is_mase(const YAML::Node& root);
Result<std::vector<Rule>> read_mase(const YAML::Node& root);

// Quark's {'element_dtype': 'int8', 'axis': 1, 'block_size': 8, 'rounding_mode': 2}, and the same for block
// floating point with 'bfp_method' and 'bit_width'.
bool is_quark(const YAML::Node& root);
Result<std::vector<Rule>> read_quark(const YAML::Node& root);

}  // namespace anybit::quantizing
