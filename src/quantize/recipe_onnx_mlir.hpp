// Reads the configuration files of onnx-mlir for NNPA as recipes: `nnpa_ops_config`, the older lists
// `device_placement` and `quantization`, and `compile_options`.
#pragma once

#include <yaml-cpp/yaml.h>

#include "quantize/recipe.hpp"

namespace anybit::quantizing {

bool is_onnx_mlir(const YAML::Node& root);
// Adds rules, target and remarks to the recipe.
Result<void> read_onnx_mlir(const YAML::Node& root, Recipe& recipe);

}  // namespace anybit::quantizing
