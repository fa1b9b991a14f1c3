// IF, WHILE: ONNX's If and Loop. Their subgraphs see the values of the graph around them by name.
#include <algorithm>

#include "base/try.hpp"
#include "tflite/subgraph.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;
using graph::ElementType;

// Inputs first … as they are stored; quantized values stay integers on their way.
Result<std::vector<std::string>> captured(OperatorReader& here, std::size_t first) {
  std::vector<std::string> values;
  for (std::size_t i = first; i < here.inputs(); ++i)
    values.push_back(TRY(here.graph().stored(here.input(i))));
  return values;
}

Result<graph::Graph> branch(OperatorReader& here, std::int64_t index,
                            const std::vector<std::string>& inputs) {
  GraphReader& graph = here.graph();
  return read_branch(graph.file(), graph.names(), index, inputs, graph.depth() + 1);
}

std::string scalar(OperatorReader& here, const std::string& value) {
  return here.emit("Reshape", {value, here.graph().integers({})});
}

Result<void> define_stored(OperatorReader& here, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < here.outputs(); ++i) TRY(here.graph().define_stored(here.output(i), values[i]));
  return {};
}

Result<void> read_if(OperatorReader& here) {
  const auto& options = here.options<wire::IfOptions>();
  const std::vector<std::string> inputs = TRY(captured(here, 1));
  graph::Graph yes = TRY(branch(here, options.then_subgraph_index(), inputs));
  graph::Graph no = TRY(branch(here, options.else_subgraph_index(), inputs));
  if (yes.outputs.size() != here.outputs() || no.outputs.size() != here.outputs())
    return here.invalid("its branches have another number of outputs than the operator");
  const std::string condition = scalar(here, TRY(here.value(0)));
  return define_stored(here,
                       here.graph().emit_many("If", {condition}, here.outputs(),
                                              {attribute("then_branch", graph::GraphBox(std::move(yes))),
                                               attribute("else_branch", graph::GraphBox(std::move(no)))}));
}

graph::ValueInfo declared(const std::string& name, ElementType type) {
  graph::ValueInfo info;
  graph::TensorType tensor;
  tensor.element = static_cast<std::int32_t>(type);
  tensor.shape.emplace();
  info.name = graph::Text(name);
  info.type = graph::Type(std::move(tensor));
  return info;
}

// Moves a graph's nodes and constants to the end of another. The names of the results.
std::vector<std::string> append(graph::Graph& to, graph::Graph from) {
  std::ranges::move(from.nodes, std::back_inserter(to.nodes));
  std::ranges::move(from.initializers, std::back_inserter(to.initializers));
  std::vector<std::string> results;
  for (const graph::ValueInfo& output : from.outputs) results.push_back(output.name.str());
  return results;
}

// Loop computes the condition of its next round itself: the body is followed by the condition's graph, which
// also stands in front of the loop.
Result<void> read_while(OperatorReader& here) {
  const auto& options = here.options<wire::WhileOptions>();
  GraphReader& graph = here.graph();
  if (here.outputs() != here.inputs()) return here.invalid("it has another number of outputs than inputs");
  const std::vector<std::string> start = TRY(captured(here, 0));
  const std::vector<std::string> first =
      append(graph.graph(), TRY(branch(here, options.cond_subgraph_index(), start)));
  if (first.size() != 1) return here.invalid("its condition has not one output");

  graph::Graph body;
  body.name = graph::Text("body");
  body.inputs.push_back(declared(graph.names().fresh(graph.stem() + "/round"), ElementType::int64));
  body.inputs.push_back(declared(graph.names().fresh(graph.stem() + "/continue"), ElementType::boolean));
  std::vector<std::string> states;
  for (std::size_t i = 0; i < here.inputs(); ++i) {
    states.push_back(graph.names().fresh(graph.stem() + "/state"));
    graph::ValueInfo state;
    state.name = graph::Text(states.back());
    state.type = graph.type_of(here.output(i));
    body.inputs.push_back(std::move(state));
  }
  graph::Graph step = TRY(branch(here, options.body_subgraph_index(), states));
  const std::vector<graph::ValueInfo> outputs = step.outputs;
  if (outputs.size() != here.outputs())
    return here.invalid("its body has another number of outputs than the operator");
  const std::vector<std::string> next = append(body, std::move(step));
  graph::Graph again = TRY(branch(here, options.cond_subgraph_index(), next));
  if (again.outputs.size() != 1) return here.invalid("its condition has not one output");
  body.outputs = again.outputs;
  append(body, std::move(again));
  body.outputs.insert(body.outputs.end(), outputs.begin(), outputs.end());

  std::vector<std::string> inputs{"", scalar(here, first[0])};
  inputs.insert(inputs.end(), start.begin(), start.end());
  return define_stored(here, graph.emit_many("Loop", std::move(inputs), here.outputs(),
                                             {attribute("body", graph::GraphBox(std::move(body)))}));
}

}  // namespace

std::span<const Descriptor> control_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "IF", .code = BuiltinOperator::IF, .inputs = 1, .outputs = 0, .read = read_if},
      {.name = "WHILE", .code = BuiltinOperator::WHILE, .inputs = 0, .outputs = 0, .read = read_while},
  };
  return all;
}

}  // namespace anybit::tflite
