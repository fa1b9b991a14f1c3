// Converts ModelProto, GraphProto, NodeProto and their parts to src/graph. One function per message, callees
// first.
#include "io/onnx/from_wire.hpp"

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::onnx {
namespace {

using graph::Attribute;
using graph::AttributeKind;

constexpr auto kLastKind = static_cast<std::int32_t>(AttributeKind::types);

Result<void> take_graph(wire::Graph& message, const Sources& sources, graph::Graph& graph);

template <class Strings>
std::vector<std::string> take_strings(Strings* messages) {
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(messages->size()));
  for (std::string& text : *messages) strings.push_back(std::move(text));
  return strings;
}

// Converts each message of a repeated field; take(message, value) may fail.
template <class T, class Messages, class Take>
Result<void> take_each(Messages* messages, std::vector<T>& values, const Take& take) {
  values.resize(static_cast<std::size_t>(messages->size()));
  std::size_t i = 0;
  for (auto& message : *messages) TRY(take(message, values[i++]));
  return {};
}

template <class Messages>
std::vector<graph::ValueInfo> take_value_infos(Messages* messages) {
  std::vector<graph::ValueInfo> infos(static_cast<std::size_t>(messages->size()));
  std::size_t i = 0;
  for (auto& message : *messages) {
    graph::ValueInfo& info = infos[i++];
    info.name = ANYBIT_TAKE_TEXT(message, name);
    info.doc = ANYBIT_TAKE_TEXT(message, doc_string);
    if (message.has_type()) take_type(*message.mutable_type(), info.type.emplace());
    info.metadata = take_properties(message.mutable_metadata_props());
    info.extra = take_extra(message);
  }
  return infos;
}

template <class Messages>
std::vector<graph::OpsetImport> take_opsets(Messages* messages) {
  std::vector<graph::OpsetImport> opsets;
  for (auto& message : *messages) {
    opsets.push_back(
        {ANYBIT_TAKE_TEXT(message, domain), ANYBIT_TAKE_NUMBER(message, version), take_extra(message)});
  }
  return opsets;
}

Result<void> take_sparse(wire::SparseTensor& message, const Sources& sources, graph::SparseTensor& sparse) {
  if (message.has_values()) TRY(take_tensor(*message.mutable_values(), sources, sparse.values.emplace()));
  if (message.has_indices()) TRY(take_tensor(*message.mutable_indices(), sources, sparse.indices.emplace()));
  sparse.dims.assign(message.dims().begin(), message.dims().end());
  sparse.extra = take_extra(message);
  return {};
}

// The field that holds the value: the one that `type` names. If that is empty, or in files before IR 4
// without a type, the first one that is set.
bool is_set(const wire::Attribute& message, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::undefined:
      return false;
    case AttributeKind::real:
      return message.has_f();
    case AttributeKind::integer:
      return message.has_i();
    case AttributeKind::string:
      return message.has_s();
    case AttributeKind::tensor:
      return message.has_t();
    case AttributeKind::graph:
      return message.has_g();
    case AttributeKind::reals:
      return message.floats_size() != 0;
    case AttributeKind::integers:
      return message.ints_size() != 0;
    case AttributeKind::strings:
      return message.strings_size() != 0;
    case AttributeKind::tensors:
      return message.tensors_size() != 0;
    case AttributeKind::graphs:
      return message.graphs_size() != 0;
    case AttributeKind::sparse_tensor:
      return message.has_sparse_tensor();
    case AttributeKind::sparse_tensors:
      return message.sparse_tensors_size() != 0;
    case AttributeKind::type:
      return message.has_tp();
    case AttributeKind::types:
      return message.type_protos_size() != 0;
  }
  return false;
}

AttributeKind kind_of(const wire::Attribute& message) {
  if (message.has_type()) {
    const auto kind = static_cast<AttributeKind>(message.type());
    if (is_set(message, kind)) return kind;
  }
  for (std::int32_t number = 1; number <= kLastKind; ++number) {
    if (is_set(message, static_cast<AttributeKind>(number))) return static_cast<AttributeKind>(number);
  }
  return AttributeKind::undefined;
}

Result<void> take_value(wire::Attribute& message, AttributeKind kind, const Sources& sources,
                        Attribute::Value& value) {
  const auto tensor = [&](auto& part, graph::Tensor& to) { return take_tensor(part, sources, to); };
  const auto graph = [&](auto& part, graph::GraphBox& to) { return take_graph(part, sources, *to); };
  const auto sparse = [&](auto& part, graph::SparseTensor& to) { return take_sparse(part, sources, to); };
  const auto type = [](auto& part, graph::Type& to) {
    take_type(part, to);
    return Result<void>();
  };
  switch (kind) {
    case AttributeKind::undefined:
      break;
    case AttributeKind::real:
      value = message.f();
      break;
    case AttributeKind::integer:
      value = message.i();
      break;
    case AttributeKind::string:
      value = std::move(*message.mutable_s());
      break;
    case AttributeKind::tensor:
      return tensor(*message.mutable_t(), value.emplace<graph::Tensor>());
    case AttributeKind::graph:
      return graph(*message.mutable_g(), value.emplace<graph::GraphBox>());
    case AttributeKind::sparse_tensor:
      return sparse(*message.mutable_sparse_tensor(), value.emplace<graph::SparseTensor>());
    case AttributeKind::type:
      return type(*message.mutable_tp(), value.emplace<graph::Type>());
    case AttributeKind::reals:
      value.emplace<std::vector<float>>(message.floats().begin(), message.floats().end());
      break;
    case AttributeKind::integers:
      value.emplace<std::vector<std::int64_t>>(message.ints().begin(), message.ints().end());
      break;
    case AttributeKind::strings:
      value = take_strings(message.mutable_strings());
      break;
    case AttributeKind::tensors:
      return take_each(message.mutable_tensors(), value.emplace<std::vector<graph::Tensor>>(), tensor);
    case AttributeKind::graphs:
      return take_each(message.mutable_graphs(), value.emplace<std::vector<graph::GraphBox>>(), graph);
    case AttributeKind::sparse_tensors:
      return take_each(message.mutable_sparse_tensors(), value.emplace<std::vector<graph::SparseTensor>>(),
                       sparse);
    case AttributeKind::types:
      return take_each(message.mutable_type_protos(), value.emplace<std::vector<graph::Type>>(), type);
  }
  return {};
}

Result<void> take_attribute(wire::Attribute& message, const Sources& sources, Attribute& attribute) {
  attribute.kind = ANYBIT_TAKE_NUMBER(message, type);
  const AttributeKind kind = kind_of(message);
  for (std::int32_t number = 1; number <= kLastKind; ++number) {
    const auto each = static_cast<AttributeKind>(number);
    if (!is_set(message, each)) continue;
    Attribute::Value& value = each == kind ? attribute.value : attribute.others.emplace_back();
    auto taken = take_value(message, each, sources, value);
    if (!taken.ok())
      return std::move(taken).error().within(fmt::format("attribute '{}'", shown(message.name())));
  }
  attribute.name = ANYBIT_TAKE_TEXT(message, name);
  attribute.reference = ANYBIT_TAKE_TEXT(message, ref_attr_name);
  attribute.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  attribute.extra = take_extra(message);
  return {};
}

template <class Messages>
Result<void> take_attributes(Messages* messages, const Sources& sources, std::vector<Attribute>& attributes) {
  return take_each(messages, attributes,
                   [&](auto& part, Attribute& to) { return take_attribute(part, sources, to); });
}

Result<void> take_node(wire::Node& message, const Sources& sources, graph::Node& node) {
  node.name = ANYBIT_TAKE_TEXT(message, name);
  node.op_type = ANYBIT_TAKE_TEXT(message, op_type);
  node.domain = ANYBIT_TAKE_TEXT(message, domain);
  node.overload = ANYBIT_TAKE_TEXT(message, overload);
  node.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  node.inputs = take_strings(message.mutable_input());
  node.outputs = take_strings(message.mutable_output());
  node.metadata = take_properties(message.mutable_metadata_props());
  node.device_configurations = take_strings(message.mutable_device_configurations());
  node.extra = take_extra(message);
  return take_attributes(message.mutable_attribute(), sources, node.attributes);
}

template <class Messages>
Result<void> take_nodes(Messages* messages, const Sources& sources, std::vector<graph::Node>& nodes) {
  return take_each(messages, nodes, [&](auto& part, graph::Node& to) -> Result<void> {
    auto taken = take_node(part, sources, to);
    if (taken.ok()) return taken;
    return std::move(taken).error().within(graph::place_of(to, static_cast<std::size_t>(&to - nodes.data())));
  });
}

graph::QuantizationAnnotation take_annotation(wire::TensorAnnotation& message) {
  return {ANYBIT_TAKE_TEXT(message, tensor_name),
          take_properties(message.mutable_quant_parameter_tensor_names()), take_extra(message)};
}

Result<void> take_graph(wire::Graph& message, const Sources& sources, graph::Graph& graph) {
  graph.name = ANYBIT_TAKE_TEXT(message, name);
  graph.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  graph.inputs = take_value_infos(message.mutable_input());
  graph.outputs = take_value_infos(message.mutable_output());
  graph.value_info = take_value_infos(message.mutable_value_info());
  for (auto& part : *message.mutable_quantization_annotation())
    graph.annotations.push_back(take_annotation(part));
  graph.metadata = take_properties(message.mutable_metadata_props());
  graph.extra = take_extra(message);
  TRY(take_each(message.mutable_initializer(), graph.initializers,
                [&](auto& part, graph::Tensor& to) { return take_tensor(part, sources, to); }));
  TRY(take_each(message.mutable_sparse_initializer(), graph.sparse_initializers,
                [&](auto& part, graph::SparseTensor& to) { return take_sparse(part, sources, to); }));
  return take_nodes(message.mutable_node(), sources, graph.nodes);
}

Result<void> take_function(wire::Function& message, const Sources& sources, graph::Function& function) {
  function.name = ANYBIT_TAKE_TEXT(message, name);
  function.domain = ANYBIT_TAKE_TEXT(message, domain);
  function.overload = ANYBIT_TAKE_TEXT(message, overload);
  function.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  function.inputs = take_strings(message.mutable_input());
  function.outputs = take_strings(message.mutable_output());
  function.attributes = take_strings(message.mutable_attribute());
  function.opsets = take_opsets(message.mutable_opset_import());
  function.value_info = take_value_infos(message.mutable_value_info());
  function.metadata = take_properties(message.mutable_metadata_props());
  function.extra = take_extra(message);
  auto taken = take_attributes(message.mutable_attribute_proto(), sources, function.default_attributes);
  if (taken.ok()) taken = take_nodes(message.mutable_node(), sources, function.nodes);
  if (taken.ok()) return taken;
  return std::move(taken).error().within(fmt::format("function '{}'", shown(function.name.str())));
}

Result<void> take_training(wire::TrainingInfo& message, const Sources& sources,
                           graph::TrainingInfo& training) {
  if (message.has_initialization()) {
    TRY(take_graph(*message.mutable_initialization(), sources, *training.initialization.emplace()));
  }
  if (message.has_algorithm()) {
    TRY(take_graph(*message.mutable_algorithm(), sources, *training.algorithm.emplace()));
  }
  training.initialization_bindings = take_properties(message.mutable_initialization_binding());
  training.update_bindings = take_properties(message.mutable_update_binding());
  training.extra = take_extra(message);
  return {};
}

}  // namespace

graph::Property take_property(wire::StringStringEntry& message) {
  return {ANYBIT_TAKE_TEXT(message, key), ANYBIT_TAKE_TEXT(message, value), take_extra(message)};
}

Result<graph::Model> take_model(wire::Model& message, const Sources& sources) {
  graph::Model model;
  model.ir_version = ANYBIT_TAKE_NUMBER(message, ir_version);
  model.model_version = ANYBIT_TAKE_NUMBER(message, model_version);
  model.producer = ANYBIT_TAKE_TEXT(message, producer_name);
  model.producer_version = ANYBIT_TAKE_TEXT(message, producer_version);
  model.domain = ANYBIT_TAKE_TEXT(message, domain);
  model.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  model.opsets = take_opsets(message.mutable_opset_import());
  model.metadata = take_properties(message.mutable_metadata_props());
  model.configurations = take_strings(message.mutable_configuration());
  model.extra = take_extra(message);
  if (message.has_graph()) TRY(take_graph(*message.mutable_graph(), sources, model.graph.emplace()));
  TRY(take_each(message.mutable_functions(), model.functions,
                [&](auto& part, graph::Function& to) { return take_function(part, sources, to); }));
  TRY(take_each(message.mutable_training_info(), model.training,
                [&](auto& part, graph::TrainingInfo& to) { return take_training(part, sources, to); }));
  return model;
}

}  // namespace anybit::onnx
