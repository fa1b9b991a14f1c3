// Reading, creating and changing single nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

inline constexpr std::string_view kAnybit = "ai.anybit";         // anybit's own operators
inline constexpr std::string_view kMicrosoft = "com.microsoft";  // ONNX Runtime's operators

// `domain`: ONNX's own by default.
bool is(const Node& node, std::string_view op_type, std::string_view domain = "");

// `otherwise` if the attribute is missing or has another kind.
template <class T>
T attribute_or(const Node& node, std::string_view name, T otherwise) {
  const Attribute* found = node.attribute(name);
  const T* value = found ? std::get_if<T>(&found->value) : nullptr;
  return value ? *value : otherwise;
}
std::int64_t integer(const Node& node, std::string_view name, std::int64_t otherwise);
double real(const Node& node, std::string_view name, double otherwise);
std::string_view text(const Node& node, std::string_view name, std::string_view otherwise);
std::optional<std::vector<std::int64_t>> integers(const Node& node, std::string_view name);

// The name of input i; empty if it is left out.
const std::string& input(const Node& node, std::size_t i);

// An attribute; its kind follows from the value.
Attribute attribute(std::string_view name, Attribute::Value value);
// Replaces an attribute of the same name, or appends a new one.
void set_attribute(Node& node, std::string_view name, Attribute::Value value);
void remove_attribute(Node& node, std::string_view name);

// A copy of the node with another operator: names and attributes stay.
Node as_operator(Node node, std::string_view op_type, std::string_view domain = "");

Node make_node(std::string_view op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes = {}, std::string_view domain = "");

}  // namespace anybit::graph
