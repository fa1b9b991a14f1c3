// Activations that are one node, by the names and parameters of FusedConv.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/edit.hpp"

namespace anybit::runtime {

struct NamedActivation {
  std::string name;
  std::vector<float> parameters = {};
};

std::optional<NamedActivation> activation_of_step(const Edit& edit, const Step& step);

// The bounds of a Clip, if they are constant and in order.
std::optional<std::vector<float>> clip_bounds(const Edit& edit, const Step& step);
// A single constant number; `otherwise` if the input is left out.
std::optional<float> constant_number(const Edit& edit, const Step& step, std::size_t input, float otherwise);
float real_of(const Step& step, std::string_view attribute, float otherwise);

}  // namespace anybit::runtime
