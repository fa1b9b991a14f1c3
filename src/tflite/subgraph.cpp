#include "tflite/subgraph.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/graph_reader.hpp"
#include "tflite/operator_reader.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

// Older files have the operator's number in a byte, in which 127 says that it is in the wider field.
wire::BuiltinOperator kind_of(const wire::OperatorCode& code) {
  const std::int32_t wide = static_cast<std::int32_t>(code.builtin_code());
  return static_cast<wire::BuiltinOperator>(wide != 0 ? wide : code.deprecated_builtin_code());
}

std::string name_of_kind(const wire::OperatorCode& code) {
  const wire::BuiltinOperator kind = kind_of(code);
  if (kind == wire::BuiltinOperator::CUSTOM)
    return fmt::format("custom operator '{}'",
                       shown(code.custom_code() ? code.custom_code()->string_view() : ""));
  const std::string name = wire::EnumNameBuiltinOperator(kind);
  return name.empty() ? fmt::format("operator kind {}", static_cast<int>(kind)) : name;
}

// The results of an operator are named after its first output.
std::string stem_of(const GraphReader& graph, const wire::Operator& one, std::size_t index) {
  const bool named = one.outputs() && one.outputs()->size() > 0 &&
                     graph.check_index(one.outputs()->Get(0)).ok() &&
                     !graph.info(one.outputs()->Get(0)).name.empty();
  return named ? graph.info(one.outputs()->Get(0)).name : fmt::format("operator_{}", index);
}

Result<void> read_operator(GraphReader& graph, const wire::Operator& one, std::size_t index) {
  File& file = graph.file();
  TRY(file.take_operator());
  const wire::OperatorCode& code = *file.model().operator_codes()->Get(one.opcode_index());
  const std::string place = fmt::format("operator {} ({})", index, name_of_kind(code));
  const Descriptor* row = find(kind_of(code));
  if (!row) {
    const bool custom = kind_of(code) == wire::BuiltinOperator::CUSTOM;
    return error_at(
        Code::unsupported, place,
        custom ? "custom operators have no definition in the file" : "anybit does not read this operator",
        "docs/tflite.md lists the operators that anybit reads");
  }
  TRY(file.take_records((one.inputs() ? one.inputs()->size() : 0) +
                        (one.outputs() ? one.outputs()->size() : 0)));
  graph.set_stem(stem_of(graph, one, index));
  OperatorReader reader(graph, one, row->name);
  auto checked = reader.check(row->inputs, row->outputs);
  if (!checked.ok()) return std::move(checked).error().within(place);
  auto read = row->read(reader);
  if (!read.ok()) return std::move(read).error().within(place);
  return {};
}

// Names the results and takes the graph out of its reader.
Result<graph::Graph> finished(GraphReader& reader) {
  const std::vector<std::string> results = TRY(reader.results());
  for (std::uint32_t i = 0; i < results.size(); ++i) {
    graph::ValueInfo output;
    output.name = graph::Text(results[i]);
    output.type = reader.type_of(reader.source().outputs()->Get(i));
    reader.graph().outputs.push_back(std::move(output));
  }
  const auto* name = reader.source().name();
  reader.graph().name = graph::Text(name && name->size() > 0 ? name->str() : "main");
  return std::move(reader.graph());
}

void add_next_value(GraphReader& reader, const std::string& input, const std::string& value,
                    std::int64_t tensor) {
  reader.set_stem(input);
  graph::ValueInfo output;
  reader.emit("Identity", {value});
  output.name = graph::Text(reader.names().fresh(input + "_next"));
  reader.graph().nodes.back().outputs[0] = output.name.str();
  output.type = reader.type_of(tensor);
  reader.graph().outputs.push_back(std::move(output));
}

// An output with the value that a run leaves to the next one, for each variable that is read and assigned.
void add_next_values(GraphReader& reader) {
  for (const auto& [name, variable] : reader.variables().by_name) {
    if (!variable.input.empty() && variable.tensor)
      add_next_value(reader, variable.input, variable.value, *variable.tensor);
  }
  for (const TensorState& state : reader.variables().states)
    add_next_value(reader, state.input, state.next, state.tensor);
}

}  // namespace

Result<void> read_operators(GraphReader& reader) {
  const auto* operators = reader.source().operators();
  for (std::uint32_t i = 0; operators && i < operators->size(); ++i)
    TRY(read_operator(reader, *operators->Get(i), i));
  return {};
}

Result<graph::Graph> read_subgraph(File& file, graph::Names& names, std::int64_t index) {
  GraphReader reader(file, names, index, 0);
  reader.variables().available = true;
  TRY(reader.open());
  const auto* inputs = reader.source().inputs();
  for (std::uint32_t i = 0; inputs && i < inputs->size(); ++i) {
    TRY(file.take_records(1));
    const std::int64_t tensor = inputs->Get(i);
    TRY(reader.check_index(tensor));
    graph::ValueInfo input;
    input.name = graph::Text(reader.unique_name(tensor));
    input.type = reader.type_of(tensor);
    if (reader.info(tensor).type == graph::ElementType::undefined)
      return error_at(Code::unsupported, fmt::format("input '{}'", shown(reader.info(tensor).name)),
                      "its type is a resource or a variant");
    TRY(reader.define_stored(tensor, input.name.str()));
    reader.graph().inputs.push_back(std::move(input));
  }
  TRY(read_operators(reader));
  graph::Graph graph = TRY(finished(reader));
  reader.graph() = std::move(graph);
  add_next_values(reader);
  return std::move(reader.graph());
}

Result<graph::Graph> read_branch(File& file, graph::Names& names, std::int64_t index,
                                 const std::vector<std::string>& inputs, std::int64_t depth) {
  if (depth > file.limits().depth) {
    return error_at(Code::limit_exceeded, fmt::format("subgraph {}", index),
                    "it lies in too many others, or in itself",
                    fmt::format("the limit is {}", file.limits().depth));
  }
  GraphReader reader(file, names, index, depth);
  TRY(reader.open());
  const auto* own = reader.source().inputs();
  const std::size_t count = own ? own->size() : 0;
  if (count != inputs.size()) {
    return invalid_model(fmt::format("subgraph {}", index),
                         fmt::format("it has {} inputs, and its operator gives {}", count, inputs.size()));
  }
  for (std::uint32_t i = 0; i < count; ++i) TRY(reader.define_stored(own->Get(i), inputs[i]));
  auto read = read_operators(reader);
  if (!read.ok()) return std::move(read).error().within(fmt::format("subgraph {}", index));
  return finished(reader);
}

}  // namespace anybit::tflite
