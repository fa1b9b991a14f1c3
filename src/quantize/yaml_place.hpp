// Lines of a recipe, for messages.
#pragma once

#include <yaml-cpp/yaml.h>

#include "base/error.hpp"

namespace anybit::quantizing {

inline std::string line_of(const YAML::Node& node) { return fmt::format("line {}", node.Mark().line + 1); }

inline Error at(const YAML::Node& node, Error error) { return std::move(error).within(line_of(node)); }

}  // namespace anybit::quantizing
