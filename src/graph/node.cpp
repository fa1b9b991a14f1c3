#include "graph/node.hpp"

#include <algorithm>
#include <iterator>

namespace anybit::graph {
namespace {

// Indexed by the alternatives of Attribute::Value.
constexpr AttributeKind kKinds[] = {
    AttributeKind::undefined,     AttributeKind::real,           AttributeKind::integer,
    AttributeKind::string,        AttributeKind::tensor,         AttributeKind::graph,
    AttributeKind::sparse_tensor, AttributeKind::type,           AttributeKind::reals,
    AttributeKind::integers,      AttributeKind::strings,        AttributeKind::tensors,
    AttributeKind::graphs,        AttributeKind::sparse_tensors, AttributeKind::types};
static_assert(std::size(kKinds) == std::variant_size_v<AnyAttributeValue>);

template <class T>
const T* value_of(const Node& node, std::string_view name) {
  const Attribute* found = node.attribute(name);
  return found ? std::get_if<T>(&found->value) : nullptr;
}

}  // namespace

bool is(const Node& node, std::string_view op_type, std::string_view domain) {
  return node.op_type == op_type && canonical_domain(node.domain.str()) == domain;
}

std::int64_t integer(const Node& node, std::string_view name, std::int64_t otherwise) {
  const auto* value = value_of<std::int64_t>(node, name);
  return value ? *value : otherwise;
}

double real(const Node& node, std::string_view name, double otherwise) {
  const auto* value = value_of<float>(node, name);
  return value ? static_cast<double>(*value) : otherwise;
}

std::string_view text(const Node& node, std::string_view name, std::string_view otherwise) {
  const auto* value = value_of<std::string>(node, name);
  return value ? std::string_view(*value) : otherwise;
}

std::optional<std::vector<std::int64_t>> integers(const Node& node, std::string_view name) {
  const auto* value = value_of<std::vector<std::int64_t>>(node, name);
  return value ? std::optional(*value) : std::nullopt;
}

const std::string& input(const Node& node, std::size_t i) {
  static const std::string none;
  return i < node.inputs.size() ? node.inputs[i] : none;
}

Attribute attribute(std::string_view name, Attribute::Value value) {
  Attribute made;
  made.name = Text(name);
  made.kind = static_cast<std::int32_t>(kKinds[value.index()]);
  made.value = std::move(value);
  return made;
}

void set_attribute(Node& node, std::string_view name, Attribute::Value value) {
  Attribute made = attribute(name, std::move(value));
  const auto found =
      std::ranges::find_if(node.attributes, [&](const Attribute& one) { return one.name == name; });
  if (found == node.attributes.end())
    node.attributes.push_back(std::move(made));
  else
    *found = std::move(made);
}

void remove_attribute(Node& node, std::string_view name) {
  std::erase_if(node.attributes, [&](const Attribute& one) { return one.name == name; });
}

Node as_operator(Node node, std::string_view op_type, std::string_view domain) {
  node.op_type = Text(op_type);
  if (canonical_domain(node.domain.str()) != domain) node.domain = domain.empty() ? Text() : Text(domain);
  return node;
}

Node make_node(std::string_view op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes, std::string_view domain) {
  Node node;
  node.op_type = Text(op_type);
  if (!domain.empty()) node.domain = Text(domain);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}

}  // namespace anybit::graph
