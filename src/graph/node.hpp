// Reading, making and changing single nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

inline constexpr std::string_view kAnybit = "ai.anybit";         // our own operators
inline constexpr std::string_view kMicrosoft = "com.microsoft";  // ONNX Runtime's

// Of ONNX's own domain, unless another is given.
bool is(const Node& node, std::string_view op_type, std::string_view domain = "");

// `otherwise` if the node has no such attribute, or one of another kind.
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

// Input i; empty if it is left out.
const std::string& input(const Node& node, std::size_t i);

// An attribute of the kind that its value has.
Attribute attribute(std::string_view name, Attribute::Value value);
// In the place of one of the same name, or behind the others.
void set_attribute(Node& node, std::string_view name, Attribute::Value value);
void remove_attribute(Node& node, std::string_view name);

// The same node as one of another operator: names and attributes stay.
Node as_operator(Node node, std::string_view op_type, std::string_view domain = "");

Node make_node(std::string_view op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes = {}, std::string_view domain = "");

}  // namespace anybit::graph
