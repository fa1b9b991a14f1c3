// The gradient of If: an If on the same condition. Each of its branches computes what it needs of the forward
// branch again, so that branches need not hand out values, which the other branch does not have.
#include <fmt/format.h>

#include <algorithm>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "train/walk.hpp"

namespace anybit::train {
namespace {

using graph::Graph;
using graph::Node;
// Each level computes the branches below it twice, forward and backward.
constexpr int kDeepest = 8;

using New = std::unordered_map<std::string, std::string>;  // names by old names

void rename_value(std::string& name, const New& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

// New names for everything that a graph makes, and the facts about it.
void name_anew(const Graph& graph, Ledger& ledger, New& names) {
  const auto give = [&](const std::string& name) {
    if (name.empty()) return;
    const std::string& fresh = names[name] = ledger.names.numbered(fmt::format("{}/again", name));
    ledger.note(fresh, ops::Value(ledger.facts(name)));
    if (ledger.depends(name)) ledger.mark(fresh);
  };
  for (const graph::ValueInfo& one : graph.inputs) give(one.name.str());
  for (const graph::Tensor& one : graph.initializers) give(one.name.str());
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.outputs) give(name);
    graph::each_graph(node, [&](const Graph& inner) { name_anew(inner, ledger, names); });
  }
}

void apply_names(Graph& graph, Ledger& ledger, const New& names) {
  const auto rename_text = [&](graph::Text& text) {
    if (const auto found = names.find(text.str()); found != names.end()) text = graph::Text(found->second);
  };
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (graph::ValueInfo& one : *list) rename_text(one.name);
  }
  for (graph::Tensor& one : graph.initializers) rename_text(one.name);
  for (Node& node : graph.nodes) {
    if (!node.name.empty()) node.name = graph::Text(ledger.names.numbered(node.name.str() + "/again"));
    for (std::string& name : node.inputs) rename_value(name, names);
    for (std::string& name : node.outputs) rename_value(name, names);
    graph::each_graph(node, [&](Graph& inner) { apply_names(inner, ledger, names); });
  }
}

graph::ValueInfo port(const std::string& name, const ops::Value& facts) {
  graph::TensorType type;
  type.element = static_cast<std::int32_t>(facts.type);
  graph::ValueInfo info;
  info.name = graph::Text(name);
  info.type = graph::Type{std::move(type)};
  return info;
}

}  // namespace

Result<Graph> Walk::branch_of_if(const Node& node, const Graph& branch,
                                 const std::vector<std::string>& wanted) {
  Graph copy = branch;
  New names;
  name_anew(branch, ledger_, names);
  apply_names(copy, ledger_, names);
  Writer writer(ledger_, copy.nodes);
  Walk walk(writer, depth_ + 1);
  for (std::size_t i = 0; i < node.outputs.size() && i < copy.outputs.size(); ++i) {
    const std::string dy = node.outputs[i].empty() ? "" : of(node.outputs[i]);
    const std::string& made = copy.outputs[i].name.str();
    if (!dy.empty() && ledger_.depends(made)) walk.add(made, dy);
  }
  TRY(walk.back(copy.nodes));
  copy.outputs.clear();
  std::unordered_set<std::string> taken;
  for (const std::string& value : wanted) {
    const std::string gradient = walk.of(value);
    const std::string own = writer.own(gradient.empty() ? writer.zeros_like(value) : gradient, taken);
    copy.outputs.push_back(port(own, ledger_.facts(value)));
  }
  if (writer.failed) return *writer.failed;
  std::ranges::move(writer.added.initializers, std::back_inserter(copy.initializers));
  copy.nodes = std::move(writer).assembled();
  copy.value_info.clear();
  return copy;
}

Result<void> Walk::back_if(const Node& node) {
  std::vector<std::string> wanted = captured_by(node);
  std::erase_if(wanted,
                [&](const std::string& name) { return !ledger_.depends(name) || !ledger_.is_float(name); });
  if (wanted.empty()) return {};
  if (depth_ >= kDeepest) {
    return error_at(Code::unsupported, {}, fmt::format("If is nested more than {} deep", kDeepest),
                    "freeze what lies before the node");
  }
  Node gradient = graph::make_node("If", {node.inputs[0]}, {});
  gradient.opset = node.opset;
  for (const char* which : {"then_branch", "else_branch"}) {
    const graph::Attribute* attribute = node.attribute(which);
    const auto* branch = attribute ? std::get_if<graph::GraphBox>(&attribute->value) : nullptr;
    if (!branch) return error_at(Code::invalid_model, {}, fmt::format("it has no {}", which));
    auto made = branch_of_if(node, **branch, wanted);
    if (!made.ok()) return Error(made.error()).within(which);
    gradient.attributes.push_back(graph::attribute(which, graph::GraphBox(std::move(made).value())));
  }
  std::vector<ops::Value> outputs;
  for (const std::string& name : wanted)
    outputs.push_back(ops::tensor(ledger_.facts(name).type, ledger_.facts(name).shape));
  const auto names = writer_.add_known(std::move(gradient), outputs, node.outputs[0]);
  for (std::size_t i = 0; i < wanted.size(); ++i) add(wanted[i], names[i]);
  return {};
}

}  // namespace anybit::train
