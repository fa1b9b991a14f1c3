#include "portable/to_operators.hpp"

#include <map>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "portable/look_up_neurons.hpp"
#include "portable/packed_matmul.hpp"

namespace anybit::portable {
namespace {

constexpr const char* kComputeHint = "anybit.compute";

using Meanings = std::map<std::string, RecognisedFunction>;  // by function name

std::int64_t change_calls(std::vector<graph::Node>& nodes, const Meanings& meanings) {
  std::int64_t changed = 0;
  for (graph::Node& node : nodes) {
    graph::each_graph(node, [&](graph::Graph& inner) { changed += change_calls(inner.nodes, meanings); });
    if (node.domain.str() != graph::kAnybit) continue;
    const auto found = meanings.find(node.op_type.str());
    if (found == meanings.end()) continue;
    to_operator(node, found->second);
    ++changed;
  }
  return changed;
}

}  // namespace

void to_operator(graph::Node& node, const RecognisedFunction& meaning) {
  node.op_type = graph::Text(std::string(meaning.op));
  if (meaning.op == "LookUpNeurons") {
    set_neuron_attributes(node, meaning.neuron);
    return;
  }
  node.attributes.push_back(graph::attribute("format", formats::to_string(meaning.use)));
  take_compute_hint(node, node);
}

graph::Property compute_hint(const std::string& compute) {
  graph::Property hint;
  hint.key = graph::Text(kComputeHint);
  hint.value = graph::Text(compute);
  return hint;
}

void take_compute_hint(const graph::Node& from, graph::Node& to) {
  for (const graph::Property& one : from.metadata) {
    if (one.key.str() == kComputeHint) to.attributes.push_back(graph::attribute("compute", one.value.str()));
  }
}

std::int64_t to_operators(graph::Model& model) {
  split_packed_matmuls(model);
  Meanings meanings;
  std::erase_if(model.functions, [&](const graph::Function& function) {
    if (function.domain != graph::kAnybit) return false;
    auto meaning = recognise_function(function);
    if (meaning) meanings.emplace(function.name.str(), *std::move(meaning));
    return meanings.count(function.name.str()) != 0;
  });
  if (meanings.empty()) return 0;
  for (graph::Function& function : model.functions) change_calls(function.nodes, meanings);
  return change_calls(model.graph->nodes, meanings);
}

}  // namespace anybit::portable
