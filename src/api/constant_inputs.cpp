#include "api/constant_inputs.hpp"

#include <algorithm>

#include "api/model_access.hpp"
#include "api/port.hpp"
#include "api/value.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/try.hpp"
#include "ops/convert.hpp"

namespace anybit {
namespace {

bool fits(const Port& port, const std::vector<std::int64_t>& dims) {
  if (!port.has_rank) return true;
  return std::ranges::equal(port.dims, dims,
                            [](std::int64_t own, std::int64_t given) { return own < 0 || own == given; });
}

// The given dims; if the model declares a complete shape, any shape with as many elements is accepted.
Result<std::vector<std::int64_t>> dims_for(const Port& port, const Array& given) {
  if (fits(port, given.dims)) return given.dims;
  const bool known = std::ranges::count(port.dims, -1) == 0;
  if (known && element_count(port.dims) == element_count(given.dims)) return port.dims;
  return invalid_argument(fmt::format("a constant of shape [{}]", fmt::join(given.dims, ", ")),
                          fmt::format("the model has {}", port.type));
}

// Floats are rounded to the input's type; other types must match it.
Result<ops::Array> converted(const ops::Array& from, const Port& port) {
  const graph::ElementTypeInfo* wanted = graph::find_element_type(port.element_type);
  if (wanted && wanted->type == from.type()) return from;
  const Error unlike = invalid_argument(fmt::format("a constant of {}", graph::name_of(from.type())),
                                        fmt::format("numbers that {} has", port.type));
  if (!wanted || !ops::is_convertible(wanted->type) || !ops::is_convertible(from.type())) return unlike;
  const auto memory = ops::Memory::make(0);
  ops::Array to = TRY(ops::Array::make(*memory, wanted->type, from.dims()));
  ops::convert(from.type(), from.bytes(), to.type(), to.mutable_bytes(), from.count());
  if (wanted->name.find("float") != std::string_view::npos) return to;
  ops::Array back = TRY(ops::Array::make(*memory, from.type(), from.dims()));
  ops::convert(to.type(), to.bytes(), back.type(), back.mutable_bytes(), from.count());
  if (!std::equal(from.bytes(), from.bytes() + from.byte_count(), back.bytes())) return unlike;
  return to;
}

Result<graph::Tensor> constant_for(const Port& port, const Array& given) {
  Array shaped = given;
  shaped.dims = TRY(dims_for(port, given));
  const ops::Datum datum = TRY(to_datum(Value(std::move(shaped))));
  graph::Tensor tensor = TRY(converted(datum.array, port)).to_constant();
  tensor.name = port.name;
  return tensor;
}

void remove_inputs(graph::Graph& graph, const std::set<std::string>& names) {
  std::erase_if(graph.inputs, [&](const graph::ValueInfo& one) { return names.contains(one.name.str()); });
}

}  // namespace

Result<Model> with_constant_inputs(const Model& model, const std::map<std::string, Array>& constants) {
  if (constants.empty()) return model;
  Model::Content changed = ModelAccess::content(model);
  const std::vector<Port> ports = input_ports(changed.model);
  std::vector<std::string_view> names;
  for (const Port& one : ports) names.push_back(one.name);
  for (const auto& [name, given] : constants) {
    const auto port = std::ranges::find(ports, name, &Port::name);
    if (port == ports.end())
      return invalid_argument(fmt::format("the model has no input '{}'", shown(name)),
                              did_you_mean(name, names));
    auto constant = constant_for(*port, given);
    if (!constant.ok()) return std::move(constant).error().within(fmt::format("input '{}'", shown(name)));
    graph::Graph& graph = *changed.model.graph;
    remove_inputs(graph, {name});
    std::erase_if(graph.initializers,
                  [&name = name](const graph::Tensor& one) { return one.name.str() == name; });
    graph.initializers.push_back(std::move(constant).value());
  }
  return ModelAccess::make(std::move(changed));
}

Model with_constant_defaults(const Model& model, const std::set<std::string>& kept) {
  const Model::Content& content = ModelAccess::content(model);
  std::set<std::string> optional;
  for (const Port& port : input_ports(content.model)) {
    if (!port.required && !kept.contains(port.name)) optional.insert(port.name);
  }
  if (optional.empty()) return model;
  Model::Content changed = content;
  remove_inputs(*changed.model.graph, optional);
  return ModelAccess::make(std::move(changed));
}

bool lists_weights_as_inputs(const Model& model) {
  const graph::Model& content = ModelAccess::content(model).model;
  const auto& initializers = content.graph->initializers;
  if (initializers.empty() || initializers.size() >= content.graph->inputs.size()) return false;
  std::set<std::string_view> inputs;
  for (const graph::ValueInfo& one : content.graph->inputs) inputs.insert(one.name.str());
  return std::ranges::all_of(initializers,
                             [&](const graph::Tensor& one) { return inputs.contains(one.name.str()); });
}

}  // namespace anybit
