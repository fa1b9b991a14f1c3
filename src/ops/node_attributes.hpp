// The attributes of a node as the model has it, for whoever looks at it without running it.
#pragma once

#include "ops/attributes.hpp"

namespace anybit::ops {

struct NodeAttributes final : Attributes {
  using Attributes::Attributes;
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
};

}  // namespace anybit::ops
