// Lines of a recipe, for messages, and its words.
#pragma once

#include <yaml-cpp/yaml.h>

#include "base/error.hpp"

namespace anybit::quantizing {

inline std::string line_of(const YAML::Node& node) { return fmt::format("line {}", node.Mark().line + 1); }

inline Error at(const YAML::Node& node, Error error) { return std::move(error).within(line_of(node)); }

// A scalar; Python's True and False become YAML's.
inline Result<std::string> word(const YAML::Node& node, std::string_view what) {
  if (!node.IsScalar()) return at(node, invalid_argument(fmt::format("{} must be a single word", what)));
  if (node.Scalar() == "True") return std::string("true");
  if (node.Scalar() == "False") return std::string("false");
  return node.Scalar();
}

}  // namespace anybit::quantizing
