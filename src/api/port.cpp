#include "api/port.hpp"

#include <string_view>
#include <unordered_set>

namespace anybit {

Port port_of(const graph::ValueInfo& info, bool required) {
  Port port;
  port.name = info.name.str();
  port.required = required;
  if (!info.type) return port;
  port.type = graph::to_string(*info.type);
  const graph::TensorType* tensor = info.type->tensor();
  if (!tensor) return port;
  port.element_type = graph::name_of(tensor->element_type());
  port.has_rank = tensor->shape.has_value();
  if (!tensor->shape) return port;
  for (const graph::Dimension& dim : tensor->shape->dims) {
    const auto* symbol = std::get_if<std::string>(&dim.value);
    port.dims.push_back(dim.known() ? dim.size() : -1);
    port.symbols.push_back(symbol ? *symbol : std::string());
  }
  return port;
}

Port port_of(const graph::Tensor& constant) {
  Port port;
  port.name = constant.name.str();
  port.element_type = graph::name_of(constant.type());
  port.type = fmt::format("{}[{}]", port.element_type, fmt::join(constant.dims, ", "));
  port.dims = constant.dims;
  port.symbols.resize(port.dims.size());
  port.has_rank = true;
  return port;
}

std::vector<Port> input_ports(const graph::Model& model) {
  std::vector<Port> ports;
  std::unordered_set<std::string_view> initialized;
  for (const graph::Tensor& one : model.graph->initializers) initialized.insert(one.name.str());
  for (const graph::SparseTensor& one : model.graph->sparse_initializers) {
    if (one.values) initialized.insert(one.values->name.str());
  }
  for (const graph::ValueInfo& info : model.graph->inputs) {
    const bool has_default = initialized.contains(info.name.str());
    if (has_default && model.ir_version.value_or(0) < 4) continue;
    ports.push_back(port_of(info, !has_default));
  }
  return ports;
}

}  // namespace anybit
