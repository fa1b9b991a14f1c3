#include "graph/adder.hpp"

#include <fmt/format.h>

#include "graph/constant.hpp"
#include "graph/node.hpp"

namespace anybit::graph {
namespace {

ValueInfo tensor_info(const std::string& name, ElementType type, const std::vector<std::int64_t>& dims) {
  TensorType tensor;
  tensor.element = static_cast<std::int32_t>(type);
  tensor.shape.emplace();
  for (const std::int64_t dim : dims) {
    auto& one = tensor.shape->dims.emplace_back();
    if (dim >= 0) one.value = dim;
  }
  ValueInfo value;
  value.name = Text(name);
  value.type = Type{std::move(tensor)};
  return value;
}

}  // namespace

std::vector<std::string> Adder::add(Node node, std::size_t outputs, std::string_view stem) {
  while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(names_.numbered(stem));
  node.name = Text(names_.numbered(fmt::format("{}/{}", stem, node.op_type.str())));
  return graph_.nodes.emplace_back(std::move(node)).outputs;
}

std::vector<std::string> Adder::ops(std::string_view type, std::vector<std::string> inputs,
                                    std::size_t outputs, std::vector<Attribute> attributes,
                                    std::string_view domain) {
  return add(make_node(type, std::move(inputs), {}, std::move(attributes), domain), outputs,
             fmt::format("{}_out", type));
}

std::string Adder::constant(std::string_view name, Tensor tensor) {
  std::string fresh = names_.fresh(name);
  tensor.name = Text(fresh);
  graph_.initializers.push_back(std::move(tensor));
  return fresh;
}

std::string Adder::floats(std::string_view name, std::vector<std::int64_t> dims, std::vector<float> values) {
  return constant(name, make_tensor("", std::move(dims), std::move(values)));
}

std::string Adder::integers(std::vector<std::int64_t> values) {
  const std::int64_t count = std::ssize(values);
  return constant("integers", make_tensor("", {count}, std::move(values)));
}

std::string Adder::input(std::string_view name, ElementType type, const std::vector<std::int64_t>& dims) {
  std::string fresh = names_.fresh(name);
  graph_.inputs.push_back(tensor_info(fresh, type, dims));
  return fresh;
}

void Adder::output(const std::string& value, ElementType type, const std::vector<std::int64_t>& dims) {
  graph_.outputs.push_back(tensor_info(value, type, dims));
}

}  // namespace anybit::graph
