#include "runtime/operators.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "base/try.hpp"
#include "graph/budget.hpp"
#include "graph/index.hpp"
#include "ops/check.hpp"

namespace anybit::runtime {
namespace {

std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}\n{}\n{}", graph::canonical_domain(domain), name, overload);
}

Error unknown(const graph::Node& node) {
  std::vector<std::string_view> names;
  for (const ops::Descriptor* one : ops::table()) {
    if (one->run && one->domain == graph::canonical_domain(node.domain.str())) names.push_back(one->name);
  }
  const std::string domain =
      node.domain.empty() ? std::string() : fmt::format(" of domain '{}'", shown(node.domain.str()));
  const auto nearest = anybit::nearest(node.op_type.str(), names);
  return error_at(Code::unsupported, {},
                  fmt::format("operator '{}'{} cannot be run", shown(node.op_type.str()), domain),
                  nearest.empty() ? std::string() : fmt::format("is '{}' meant?", nearest.front()));
}

}  // namespace

Operators::Operators(const graph::Model& model, const Limits& limits) : model_(model), limits_(limits) {
  for (const graph::Function& one : model.functions)
    functions_.insert(key(one.domain.str(), one.name.str(), one.overload.str()));
}

Result<Operator> Operators::of(const graph::Node& node) const {
  // A function is still here only if a limit prevented its inlining.
  if (!functions_.empty() &&
      functions_.contains(key(node.domain.str(), node.op_type.str(), node.overload.str())))
    return graph::too_many_nodes(limits_.work_nodes);
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor || !descriptor->run) return unknown(node);
  const std::int64_t opset = node.opset ? *node.opset : model_.opset(node.domain.str()).value_or(1);
  const std::int64_t version = TRY(ops::checked_version(*descriptor, node, opset));
  return Operator{descriptor, version};
}

Result<void> Operators::check(const graph::Graph& graph) const {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    auto found = of(node);
    if (!found.ok()) return std::move(found).error().within(graph::place_of(node, i));
    for (const graph::Attribute& one : node.attributes) {
      const auto* inner = std::get_if<graph::GraphBox>(&one.value);
      if (!inner) continue;
      auto checked = check(**inner);
      if (!checked.ok())
        return std::move(checked).error().within(one.name.str()).within(graph::place_of(node, i));
    }
  }
  return {};
}

}  // namespace anybit::runtime
