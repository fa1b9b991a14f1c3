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
  };
  std::vector<Formats> formats;
  bool channels = true;   // supports per-channel weights
  bool dynamic = true;    // supports dynamic activations
  bool saturates = true;  // its kernels may saturate 16-bit sums of two int8 products: see reduce_range.hpp
  // From a target file: the system of the hardware and its memory mode.
  std::string system_configuration, memory_mode;

  bool runs(std::string_view op) const;
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

}  // namespace anybit::quantizing
