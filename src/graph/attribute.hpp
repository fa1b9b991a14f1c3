// Reading a node's attributes where no operator's file does it.
#pragma once

#include <string_view>

#include "graph/model.hpp"

namespace anybit::graph {

// `otherwise` if the node has no such attribute, or one of another kind.
template <class T>
T attribute_or(const Node& node, std::string_view name, T otherwise) {
  const Attribute* found = node.attribute(name);
  const T* value = found ? std::get_if<T>(&found->value) : nullptr;
  return value ? *value : otherwise;
}

}  // namespace anybit::graph
