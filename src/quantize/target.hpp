// Targets: hardware that models are quantized for, with its operators and formats. Other operators stay in
// float on the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quantize/recipe.hpp"

namespace anybit::quantizing {

struct Target {
  std::string name = "generic";
  std::string summary;
  std::string_view preset = "int8";   // the default recipe
  std::vector<std::string_view> ops;  // supported quantized operators; empty: all
  // Supported pairs of activation and weight formats; empty: any.
  struct Formats {
    std::string_view activation, weight;
    std::vector<std::string_view> ops = {};  // the operators that run in them; empty: all of the target's
  };
  std::vector<Formats> formats;
  bool channels = true;   // supports per-channel weights
  bool dynamic = true;    // supports dynamic activations
  bool saturates = true;  // its kernels may saturate 16-bit sums of two int8 products: see reduce_range.hpp
  // Costs of a dynamically quantized layer, in units of one multiplication in float: of a multiplication in
  // 8 bits; per element of the input and per row sum that zero points of weights need; per element of the
  // output. docs/recipes.md#choosing-by-itself.
  struct Costs {
    double multiply, quantize_symmetric, quantize_asymmetric, row_sum, rescale, data_zero_point,
        weight_zero_point;
  };
  Costs costs = {.multiply = 0.35,
                 .quantize_symmetric = 8,  // several operators, where asymmetric is one
                 .quantize_asymmetric = 4,
                 .row_sum = 1,
                 .rescale = 2,
                 .data_zero_point = 0,  // with constant weights it is known before the model runs
                 .weight_zero_point = 1};
  // Light operators between float16 layers compute in float16, too: values stay in it where possible.
  bool islands = false;
  bool strict = false;  // an operator that a rule names and that it does not run is an error, not a remark
  // From a target file: the system of the hardware and its memory mode.
  std::string system_configuration, memory_mode;

  bool runs(std::string_view op) const;
  // Returns true if it runs the operator in the formats of this scheme; formats that it does not know count.
  bool runs_in(std::string_view op, const Scheme& scheme) const;
};

std::vector<Target> targets();
Result<Target> find_target(std::string_view name);
// Parses a target file: {target: ethos-u55-128, system_configuration: …, memory_mode: …}.
Result<Target> read_target(const std::string& text, const std::string& name);
// An error if a rule of the recipe uses a format that the target does not support.
Result<void> check(const Recipe& recipe, const Target& target);
// Does the same for the spec of an activation.
Result<void> check_data(const Spec& spec, const Target& target);
// An error if the combined scheme of a node with constant weights is not a supported pair.
Result<void> check_pair(const Scheme& scheme, const Target& target);

// Adds metadata for compilers.
void note_target(graph::Model& model, const Target& target);

}  // namespace anybit::quantizing
