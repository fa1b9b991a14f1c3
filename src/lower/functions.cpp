#include "lower/functions.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "lower/linear.hpp"
#include "portable/look_up_neurons.hpp"
#include "portable/to_operators.hpp"

namespace anybit::lower {
namespace {

graph::OpsetImport import_of(std::string_view domain, std::int64_t version) {
  graph::OpsetImport import;
  import.domain = graph::Text(domain);
  import.version = version;
  return import;
}

Result<void> refuse(std::string_view op, const formats::Use& use) {
  if (op != "Decode" && TRY(linear_type(use)).type != graph::ElementType::undefined)
    return error_at(Code::unsupported, {},
                    fmt::format("ONNX cannot express activations in {}: their scales are computed at "
                                "run time",
                                use.format),
                    "a weight-only recipe (names that end in -weights), or --emit portable");
  return error_at(Code::unsupported, {}, fmt::format("ONNX has no type for {}", use.format),
                  "--emit portable writes it as a function of ONNX's operators, --emit packed as an operator "
                  "that only anybit has");
}

}  // namespace

Result<void> Functions::set_operator(graph::Node& node, std::string_view op, const formats::Use& use) {
  if (mode_ == Mode::refused) return refuse(op, use);
  node.domain = graph::Text(graph::kAnybit);
  if (std::ranges::none_of(model_.opsets,
                           [](const graph::OpsetImport& one) { return one.domain.str() == graph::kAnybit; }))
    model_.opsets.push_back(import_of(graph::kAnybit, 1));
  if (mode_ == Mode::left_out) {
    portable::to_operator(node, {op, use});
    return {};
  }
  graph::Function function = TRY(op == "Decode" ? portable::decode(use) : portable::quantize_dequantize(use));
  node.op_type = function.name;
  add(std::move(function));
  return {};
}

Result<void> Functions::take_operators(graph::Graph& graph) {
  Result<void> done;
  for (graph::Node& node : graph.nodes) {
    graph::each_graph(node, [&](graph::Graph& inner) {
      if (done.ok()) done = take_operators(inner);
    });
    TRY(std::move(done));
    done = {};
    const std::string op = node.op_type.str();
    if (node.domain.str() == graph::kAnybit && op == "LookUpNeurons") TRY(set_neurons(node, graph));
    if (mode_ == Mode::left_out || node.domain.str() != graph::kAnybit ||
        (op != "Decode" && op != "QuantizeDequantize"))
      continue;
    const formats::Use use = TRY(formats::read_use(graph::attribute_or<std::string>(node, "format", "")));
    const auto compute = graph::attribute_or<std::string>(node, "compute", "");
    std::erase_if(node.attributes,
                  [](const graph::Attribute& one) { return one.name == "format" || one.name == "compute"; });
    if (!compute.empty()) node.metadata.push_back(portable::compute_hint(compute));
    TRY(set_operator(node, op, use));
  }
  return done;
}

Result<void> Functions::set_neurons(graph::Node& node, const graph::Graph& graph) {
  if (mode_ == Mode::left_out) return {};
  const auto table = portable::neuron_table_of(node, graph);
  if (mode_ == Mode::refused || !table)
    return error_at(
        Code::unsupported, fmt::format("node '{}' (LookUpNeurons)", shown(node.name.str())),
        table ? "ONNX has no operator for neurons as truth tables"
              : "its connections are not a constant of the same graph, or its bits are not valid",
        "--emit portable writes it as a function of ONNX's operators, --emit packed as an operator "
        "that only anybit has");
  for (const char* name : {"input_bits", "output_bits", "signed"}) graph::remove_attribute(node, name);
  graph::Function function = portable::look_up_neurons(*table);
  const std::int64_t needed = function.opsets[0].version.value_or(1);
  if (model_.opset().value_or(1) < needed)
    return error_at(Code::unsupported, fmt::format("node '{}' (LookUpNeurons)", shown(node.name.str())),
                    fmt::format("its function needs opset {}", needed),
                    fmt::format("anybit convert-opset --to {}", needed));
  node.op_type = function.name;
  add(std::move(function));
  return {};
}

void Functions::add(graph::Function function) {
  if (!added_.insert(function.name.str()).second) return;
  // Runtimes inline a function's nodes as they are, so they must mean the same in the model's opset.
  function.opsets = {import_of("", model_.opset().value_or(1))};
  model_.functions.push_back(std::move(function));
}

}  // namespace anybit::lower
