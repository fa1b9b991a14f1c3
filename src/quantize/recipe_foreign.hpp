// Reads recipes in the dictionaries of other tools, unchanged.
#pragma once

#include <yaml-cpp/yaml.h>

#include "quantize/recipe.hpp"

namespace anybit::quantizing {

// MASE: {"by": "type", "default": {"config": {"name": None}}, "linear": {"config": {"name": "integer",
// "data_in_width": 8, …}}}.
bool is_mase(const YAML::Node& root);
Result<std::vector<Rule>> read_mase(const YAML::Node& root);

// Quark: {'element_dtype': 'int8', 'axis': 1, 'block_size': 8, 'rounding_mode': 2}; block floating point has
// 'bfp_method' and 'bit_width'.
bool is_quark(const YAML::Node& root);
Result<std::vector<Rule>> read_quark(const YAML::Node& root);

// An error if a rule for a tensor cannot have these words.
Result<void> check_tensor_words(const std::string& words, const YAML::Node& place);
// ONNX Runtime's TensorQuantOverrides, in addition to rules: {"conv1_output": [{"quant_type": "QUInt8",
// "scale": 0.02, "zero_point": 128}]}; weights have one entry per channel.
Result<std::vector<Rule>> read_tensor_overrides(const YAML::Node& overrides);

}  // namespace anybit::quantizing
