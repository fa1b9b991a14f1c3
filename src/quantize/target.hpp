// Hardware that a model is quantized for: what it runs, and in which formats. What it does not run stays in
// float, on the CPU.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quantize/recipe.hpp"

namespace anybit::quantizing {

struct Target {
  std::string name = "generic";
  std::string summary;
  std::string_view preset = "int8";   // the recipe, unless another is asked for
  std::vector<std::string_view> ops;  // operators that it runs on codes; none: all that anybit quantizes
  // Formats, as pairs of activations and weights; none: any.
  struct Formats {
    std::string_view activation, weight;
  };
  std::vector<Formats> formats;
  bool channels = true;   // weights may have a scale for each
  bool dynamic = true;    // activations may be quantized while the model runs
  bool saturates = true;  // sums of two int8 products may have 16 bits only: reduce_range.hpp
  // From a file: the system that the hardware is part of, and where it keeps its tensors.
  std::string system_configuration, memory_mode;

  bool runs(std::string_view op) const;
};

std::vector<Target> targets();
Result<Target> find_target(std::string_view name);
// A file: {target: ethos-u55-128, system_configuration: …, memory_mode: …}.
Result<Target> read_target(const std::string& text, const std::string& name);
// An error if a rule of the recipe asks for a format that the target does not have.
Result<void> check(const Recipe& recipe, const Target& target);
// The same of what a rule makes of an activation.
Result<void> check_data(const Spec& spec, const Target& target);
// An error if what the rules together make of a node with constant weights is no pair that the target has.
Result<void> check_pair(const Scheme& scheme, const Target& target);

}  // namespace anybit::quantizing
