// ModelProto, GraphProto, NodeProto and what they hold, to their counterparts in src/graph. One function for
// each message, in the order in which they need each other.
#include "onnx/from_wire.hpp"

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::onnx {
namespace {

using graph::Attribute;
using graph::AttributeKind;

constexpr auto kLastKind = static_cast<std::int32_t>(AttributeKind::types);

Result<graph::Graph> take_graph(wire::Graph& message, const Sources& sources);

template <class Strings>
std::vector<std::string> take_strings(Strings& messages) {
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(messages.size()));
  for (std::string& text : messages) strings.push_back(std::move(text));
  return strings;
}

// Each message of a repeated field through `take`, which may fail.
template <class T, class Messages, class Take>
Result<std::vector<T>> take_each(Messages& messages, const Take& take) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(messages.size()));
  for (auto& message : messages) values.emplace_back(TRY(take(message)));
  return values;
}

graph::ValueInfo take_value_info(wire::ValueInfo& message) {
  graph::ValueInfo info;
  info.name = ANYBIT_TAKE_TEXT(message, name);
  info.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  if (message.has_type()) info.type = take_type(*message.mutable_type());
  info.metadata = take_properties(*message.mutable_metadata_props());
  info.extra = take_extra(message);
  return info;
}

template <class Messages>
std::vector<graph::ValueInfo> take_value_infos(Messages& messages) {
  std::vector<graph::ValueInfo> infos;
  infos.reserve(static_cast<std::size_t>(messages.size()));
  for (auto& message : messages) infos.push_back(take_value_info(message));
  return infos;
}

graph::OpsetImport take_opset(wire::OperatorSetId& message) {
  return {ANYBIT_TAKE_TEXT(message, domain), ANYBIT_TAKE_NUMBER(message, version), take_extra(message)};
}

template <class Messages>
std::vector<graph::OpsetImport> take_opsets(Messages& messages) {
  std::vector<graph::OpsetImport> opsets;
  for (auto& message : messages) opsets.push_back(take_opset(message));
  return opsets;
}

Result<graph::SparseTensor> take_sparse(wire::SparseTensor& message, const Sources& sources) {
  graph::SparseTensor sparse;
  if (message.has_values()) sparse.values = TRY(take_tensor(*message.mutable_values(), sources));
  if (message.has_indices()) sparse.indices = TRY(take_tensor(*message.mutable_indices(), sources));
  sparse.dims.assign(message.dims().begin(), message.dims().end());
  sparse.extra = take_extra(message);
  return sparse;
}

// The field that holds the value: the one `type` names; in files older than IR 4, which have no type, or if
// the named one is empty, the first that is set.
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

Result<Attribute::Value> take_value(wire::Attribute& message, AttributeKind kind, const Sources& sources) {
  const auto tensor = [&](wire::Tensor& part) { return take_tensor(part, sources); };
  const auto graph = [&](wire::Graph& part) { return take_graph(part, sources); };
  const auto sparse = [&](wire::SparseTensor& part) { return take_sparse(part, sources); };
  const auto type = [](wire::Type& part) { return Result<graph::Type>(take_type(part)); };
  using Value = Attribute::Value;
  switch (kind) {
    case AttributeKind::undefined:
      break;
    case AttributeKind::real:
      return Value(message.f());
    case AttributeKind::integer:
      return Value(message.i());
    case AttributeKind::string:
      return Value(std::move(*message.mutable_s()));
    case AttributeKind::tensor:
      return Value(TRY(tensor(*message.mutable_t())));
    case AttributeKind::graph:
      return Value(graph::GraphBox(TRY(graph(*message.mutable_g()))));
    case AttributeKind::sparse_tensor:
      return Value(TRY(sparse(*message.mutable_sparse_tensor())));
    case AttributeKind::type:
      return Value(take_type(*message.mutable_tp()));
    case AttributeKind::reals:
      return Value(std::vector<float>(message.floats().begin(), message.floats().end()));
    case AttributeKind::integers:
      return Value(std::vector<std::int64_t>(message.ints().begin(), message.ints().end()));
    case AttributeKind::strings:
      return Value(take_strings(*message.mutable_strings()));
    case AttributeKind::tensors:
      return Value(TRY(take_each<graph::Tensor>(*message.mutable_tensors(), tensor)));
    case AttributeKind::graphs:
      return Value(TRY(take_each<graph::GraphBox>(*message.mutable_graphs(), graph)));
    case AttributeKind::sparse_tensors:
      return Value(TRY(take_each<graph::SparseTensor>(*message.mutable_sparse_tensors(), sparse)));
    case AttributeKind::types:
      return Value(TRY(take_each<graph::Type>(*message.mutable_type_protos(), type)));
  }
  return Value();
}

Result<Attribute> take_attribute(wire::Attribute& message, const Sources& sources) {
  Attribute attribute;
  attribute.kind = ANYBIT_TAKE_NUMBER(message, type);
  const AttributeKind kind = kind_of(message);
  for (std::int32_t number = 1; number <= kLastKind; ++number) {
    const auto each = static_cast<AttributeKind>(number);
    if (!is_set(message, each)) continue;
    auto value = take_value(message, each, sources);
    if (!value.ok())
      return std::move(value).error().within(fmt::format("attribute '{}'", shown(message.name())));
    if (each == kind) {
      attribute.value = *std::move(value);
    } else {
      attribute.others.push_back(*std::move(value));
    }
  }
  attribute.name = ANYBIT_TAKE_TEXT(message, name);
  attribute.reference = ANYBIT_TAKE_TEXT(message, ref_attr_name);
  attribute.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  attribute.extra = take_extra(message);
  return attribute;
}

template <class Messages>
Result<std::vector<Attribute>> take_attributes(Messages& messages, const Sources& sources) {
  return take_each<Attribute>(messages, [&](wire::Attribute& part) { return take_attribute(part, sources); });
}

Result<graph::Node> take_node(wire::Node& message, const Sources& sources) {
  graph::Node node;
  node.name = ANYBIT_TAKE_TEXT(message, name);
  node.op_type = ANYBIT_TAKE_TEXT(message, op_type);
  node.domain = ANYBIT_TAKE_TEXT(message, domain);
  node.overload = ANYBIT_TAKE_TEXT(message, overload);
  node.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  node.inputs = take_strings(*message.mutable_input());
  node.outputs = take_strings(*message.mutable_output());
  node.metadata = take_properties(*message.mutable_metadata_props());
  node.device_configurations = take_strings(*message.mutable_device_configurations());
  node.extra = take_extra(message);
  node.attributes = TRY(take_attributes(*message.mutable_attribute(), sources));
  return node;
}

template <class Messages>
Result<std::vector<graph::Node>> take_nodes(Messages& messages, const Sources& sources) {
  std::vector<graph::Node> nodes;
  nodes.reserve(static_cast<std::size_t>(messages.size()));
  for (auto& message : messages) {
    auto node = take_node(message, sources);
    if (!node.ok()) {
      graph::Node named;  // its name may have been moved out of the message
      named.name = ANYBIT_TAKE_TEXT(message, name);
      named.op_type = ANYBIT_TAKE_TEXT(message, op_type);
      return std::move(node).error().within(graph::place_of(named, nodes.size()));
    }
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

graph::QuantizationAnnotation take_annotation(wire::TensorAnnotation& message) {
  return {ANYBIT_TAKE_TEXT(message, tensor_name),
          take_properties(*message.mutable_quant_parameter_tensor_names()), take_extra(message)};
}

Result<graph::Graph> take_graph(wire::Graph& message, const Sources& sources) {
  graph::Graph graph;
  graph.name = ANYBIT_TAKE_TEXT(message, name);
  graph.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  graph.inputs = take_value_infos(*message.mutable_input());
  graph.outputs = take_value_infos(*message.mutable_output());
  graph.value_info = take_value_infos(*message.mutable_value_info());
  for (auto& part : *message.mutable_quantization_annotation())
    graph.annotations.push_back(take_annotation(part));
  graph.metadata = take_properties(*message.mutable_metadata_props());
  graph.extra = take_extra(message);
  graph.initializers = TRY(take_each<graph::Tensor>(
      *message.mutable_initializer(), [&](wire::Tensor& part) { return take_tensor(part, sources); }));
  graph.sparse_initializers = TRY(
      take_each<graph::SparseTensor>(*message.mutable_sparse_initializer(),
                                     [&](wire::SparseTensor& part) { return take_sparse(part, sources); }));
  graph.nodes = TRY(take_nodes(*message.mutable_node(), sources));
  return graph;
}

Result<graph::Function> take_function(wire::Function& message, const Sources& sources) {
  graph::Function function;
  function.name = ANYBIT_TAKE_TEXT(message, name);
  function.domain = ANYBIT_TAKE_TEXT(message, domain);
  function.overload = ANYBIT_TAKE_TEXT(message, overload);
  function.doc = ANYBIT_TAKE_TEXT(message, doc_string);
  function.inputs = take_strings(*message.mutable_input());
  function.outputs = take_strings(*message.mutable_output());
  function.attributes = take_strings(*message.mutable_attribute());
  function.opsets = take_opsets(*message.mutable_opset_import());
  function.value_info = take_value_infos(*message.mutable_value_info());
  function.metadata = take_properties(*message.mutable_metadata_props());
  function.extra = take_extra(message);
  auto defaults = take_attributes(*message.mutable_attribute_proto(), sources);
  if (!defaults.ok())
    return std::move(defaults).error().within(fmt::format("function '{}'", shown(function.name.str())));
  function.default_attributes = *std::move(defaults);
  auto nodes = take_nodes(*message.mutable_node(), sources);
  if (!nodes.ok())
    return std::move(nodes).error().within(fmt::format("function '{}'", shown(function.name.str())));
  function.nodes = *std::move(nodes);
  return function;
}

Result<graph::TrainingInfo> take_training(wire::TrainingInfo& message, const Sources& sources) {
  graph::TrainingInfo training;
  if (message.has_initialization()) {
    training.initialization = graph::GraphBox(TRY(take_graph(*message.mutable_initialization(), sources)));
  }
  if (message.has_algorithm()) {
    training.algorithm = graph::GraphBox(TRY(take_graph(*message.mutable_algorithm(), sources)));
  }
  training.initialization_bindings = take_properties(*message.mutable_initialization_binding());
  training.update_bindings = take_properties(*message.mutable_update_binding());
  training.extra = take_extra(message);
  return training;
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
  model.opsets = take_opsets(*message.mutable_opset_import());
  model.metadata = take_properties(*message.mutable_metadata_props());
  model.configurations = take_strings(*message.mutable_configuration());
  model.extra = take_extra(message);
  if (message.has_graph()) model.graph = TRY(take_graph(*message.mutable_graph(), sources));
  model.functions = TRY(take_each<graph::Function>(
      *message.mutable_functions(), [&](wire::Function& part) { return take_function(part, sources); }));
  model.training =
      TRY(take_each<graph::TrainingInfo>(*message.mutable_training_info(), [&](wire::TrainingInfo& part) {
        return take_training(part, sources);
      }));
  return model;
}

}  // namespace anybit::onnx
