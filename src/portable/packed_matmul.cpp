#include "portable/packed_matmul.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"

namespace anybit::portable {
namespace {

using graph::Graph;
using graph::Node;

constexpr const char *kJoined = "DecodeMatMul", *kOp = "op", *kWeight = "weight";
constexpr std::string_view kOfDecode[] = {"format", "coded", "dims", "compute"};

bool is_matrix(const Node& decode) {
  const auto dims = graph::integers(decode, "dims");
  return dims && dims->size() == 2 && graph::integers(decode, "coded").value_or(*dims) == *dims;
}

// The MatMul or Gemm that alone uses a decoded constant as its weight; -1 if there is none.
int linear_of(const Graph& graph, const graph::Index& index, const Node& decode) {
  if (!graph::is(decode, "Decode", graph::kAnybit) || decode.outputs.size() != 1 || !is_matrix(decode))
    return -1;
  const std::string& weight = decode.outputs[0];
  const int user = index.is_output(weight) ? -1 : index.only_user(weight);
  if (user < 0) return -1;
  const Node& linear = graph.nodes[static_cast<std::size_t>(user)];
  const bool fits = (graph::is(linear, "MatMul") || graph::is(linear, "Gemm")) && linear.inputs.size() >= 2 &&
                    linear.inputs[1] == weight && graph::integer(linear, "transA", 0) == 0;
  const auto constant = [&](const std::string& name) { return index.constant(name) != nullptr; };
  return fits && std::ranges::all_of(decode.inputs, constant) ? user : -1;
}

Node joined(const Node& decode, const Node& linear) {
  Node node = graph::as_operator(linear, kJoined, graph::kAnybit);
  node.inputs = {linear.inputs[0], graph::input(linear, 2)};
  node.inputs.insert(node.inputs.end(), decode.inputs.begin(), decode.inputs.end());
  graph::remove_attribute(node, "transA");
  for (const graph::Attribute& one : decode.attributes) node.attributes.push_back(one);
  graph::set_attribute(node, kOp, std::string(linear.op_type.str()));
  graph::set_attribute(node, kWeight, std::string(decode.outputs[0]));
  return node;
}

void join(Graph& graph) {
  for (Node& node : graph.nodes) graph::each_graph(node, join);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  // of a Decode and its user
  const graph::Index index(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (const int user = linear_of(graph, index, graph.nodes[i]); user >= 0)
      pairs.emplace_back(i, static_cast<std::size_t>(user));
  }
  std::vector<Node> nodes;
  std::vector<bool> gone(graph.nodes.size(), false);
  for (const auto& [decode, user] : pairs) {
    graph.nodes[user] = joined(graph.nodes[decode], graph.nodes[user]);
    gone[decode] = true;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!gone[i]) nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
}

bool is_joined(const Node& node) {
  const std::string_view op = graph::text(node, kOp, "");
  return graph::is(node, kJoined, graph::kAnybit) && (op == "MatMul" || op == "Gemm") &&
         !graph::text(node, kWeight, "").empty() && node.inputs.size() > 2;
}

bool has_joined(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    bool found = is_joined(node);
    graph::each_graph(node, [&](const Graph& inner) { found = found || has_joined(inner); });
    return found;
  });
}

// The Decode of a joined node, which itself becomes the MatMul or Gemm.
Node split_off(Node& node, graph::Names& names) {
  const std::string weight = names.fresh(graph::text(node, kWeight, ""));
  Node decode = graph::as_operator(node, "Decode", graph::kAnybit);
  decode.name = graph::Text(names.fresh(weight + "_decode"));
  decode.inputs.assign(node.inputs.begin() + 2, node.inputs.end());
  decode.outputs = {weight};
  const auto of_decode = [](const graph::Attribute& one) {
    return std::ranges::find(kOfDecode, one.name.str()) != std::end(kOfDecode);
  };
  std::erase_if(decode.attributes, [&](const graph::Attribute& one) { return !of_decode(one); });
  node = graph::as_operator(node, graph::text(node, kOp, ""));
  std::erase_if(node.attributes, [&](const graph::Attribute& one) {
    return of_decode(one) || one.name == kOp || one.name == kWeight;
  });
  const std::string addend = node.inputs[1];
  node.inputs = {node.inputs[0], weight};
  if (!addend.empty()) node.inputs.push_back(addend);
  return decode;
}

void split(Graph& graph, graph::Names& names) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    graph::each_graph(node, [&](Graph& inner) { split(inner, names); });
    if (is_joined(node)) nodes.push_back(split_off(node, names));
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace

void join_packed_matmuls(graph::Model& model) { join(*model.graph); }

void split_packed_matmuls(graph::Model& model) {
  if (!has_joined(*model.graph)) return;
  graph::Names names(model);
  split(*model.graph, names);
}

}  // namespace anybit::portable
