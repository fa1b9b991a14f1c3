// Attributes of a node in the model, for callers that inspect the node without running it.
#pragma once

#include "ops/attributes.hpp"

namespace anybit::ops {

struct NodeAttributes final : Attributes {
  using Attributes::Attributes;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
};

}  // namespace anybit::ops
