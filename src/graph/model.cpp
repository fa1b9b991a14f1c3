#include "graph/model.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace anybit::graph {

ANYBIT_DEFINE_VALUE(Attribute);
ANYBIT_DEFINE_VALUE(Node);
ANYBIT_DEFINE_VALUE(ValueInfo);
ANYBIT_DEFINE_VALUE(Graph);
ANYBIT_DEFINE_VALUE(Function);
ANYBIT_DEFINE_VALUE(Model);

Attribute::Value::Value() = default;
Attribute::Value::Value(const Value&) = default;
Attribute::Value::Value(Value&&) noexcept = default;
Attribute::Value& Attribute::Value::operator=(const Value&) = default;
Attribute::Value& Attribute::Value::operator=(Value&&) noexcept = default;
Attribute::Value::~Value() = default;

GraphBox::GraphBox() : graph_(std::make_unique<Graph>()) {}
GraphBox::GraphBox(Graph graph) : graph_(std::make_unique<Graph>(std::move(graph))) {}
GraphBox::GraphBox(const GraphBox& other)
    : graph_(other.graph_ ? std::make_unique<Graph>(*other.graph_) : nullptr) {}
GraphBox::GraphBox(GraphBox&&) noexcept = default;
GraphBox& GraphBox::operator=(GraphBox other) noexcept {
  graph_ = std::move(other.graph_);
  return *this;
}
GraphBox::~GraphBox() = default;

const Attribute* Node::attribute(std::string_view name) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& attribute) { return attribute.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

std::optional<std::int64_t> Model::opset(std::string_view domain) const {
  for (const OpsetImport& import : opsets) {
    if (canonical_domain(import.domain.str()) == canonical_domain(domain)) return import.version;
  }
  return std::nullopt;
}

std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string place_of(const Node& node, std::size_t index) {
  if (node.position >= 0) index = static_cast<std::size_t>(node.position);
  if (node.name.empty()) return fmt::format("node {} ({})", index, shown(node.op_type.str()));
  return fmt::format("node '{}' ({})", shown(node.name.str()), shown(node.op_type.str()));
}

}  // namespace anybit::graph
