#include "passes/edit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/learned.hpp"

namespace anybit::passes {

using graph::Attribute;
using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::Tensor;

bool has_any(const graph::Model& model, std::string_view op_type) {
  bool found = false;
  const auto look = [&](const graph::Graph& graph, const auto& self) -> void {
    for (const graph::Node& node : graph.nodes) {
      found = found || is(node, op_type);
      graph::each_graph(node, [&](const graph::Graph& inner) { self(inner, self); });
    }
  };
  if (model.graph) look(*model.graph, look);
  return found;
}

Names::Names(const graph::Model& model) {
  if (model.graph) add(*model.graph);
  for (const graph::TrainingInfo& one : model.training) {
    for (const auto* part : {&one.initialization, &one.algorithm}) {
      if (*part) add(***part);
    }
  }
}

void Names::add(const Graph& graph) {
  add(graph.nodes);
  for (const Tensor& one : graph.initializers) used_.insert(one.name.str());
  for (const graph::SparseTensor& one : graph.sparse_initializers) {
    if (one.values) used_.insert(one.values->name.str());
  }
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) {
    for (const graph::ValueInfo& one : *list) used_.insert(one.name.str());
  }
}

void Names::add(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    for (const auto* list : {&node.inputs, &node.outputs}) used_.insert(list->begin(), list->end());
    graph::each_graph(node, [&](const Graph& inner) { add(inner); });
  }
}

std::string Names::fresh(std::string_view wish) {
  std::string name(wish);
  if (name.empty() || has(name)) {
    std::size_t& number = numbers_[name];
    do name = fmt::format("{}_{}", wish, ++number);
    while (has(name));
  }
  used_.insert(name);
  return name;
}

Constants::Constants(const graph::Model& model) {
  const auto found = std::make_shared<Found>();
  if (model.graph) add(*model.graph, *found);
  found_ = found;
}

Constants::Constants(const graph::Model& model, const PassOptions& options)
    : Constants(options.learned && options.learned->constants ? *options.learned->constants
                                                              : Constants(model)) {
  if (options.learned) options.learned->constants = *this;
}

void Constants::add(const Graph& graph, Found& found) {
  for (const Tensor& one : graph.initializers) found.emplace(one.name.str(), one);
  for (const graph::ValueInfo& one : graph.inputs) found.erase(one.name.str());
  for (const Node& node : graph.nodes) {
    graph::each_graph(node, [&](const Graph& inner) { add(inner, found); });
    if (!is(node, "Constant") || node.outputs.empty()) continue;
    const Attribute* held = node.attribute("value");
    if (const auto* tensor = held ? std::get_if<Tensor>(&held->value) : nullptr)
      found.emplace(node.outputs[0], *tensor);
  }
}

const Tensor* Constants::find(std::string_view name) const {
  const auto found = name.empty() ? found_->end() : found_->find(std::string(name));
  return found == found_->end() ? nullptr : &found->second;
}

const std::string& Renames::of(const std::string& name) const {
  const auto first = to_.find(name);
  if (first == to_.end()) return name;
  auto last = first;
  for (auto next = to_.find(last->second); next != to_.end(); next = to_.find(last->second)) last = next;
  const std::string& now = last->second;
  for (auto one = first; one != last;) {
    const auto next = to_.find(one->second);
    one->second = now;
    one = next;
  }
  return now;
}

void Renames::apply(Graph& graph) const {
  if (to_.empty()) return;
  for (Node& node : graph.nodes) {
    for (std::string& name : node.inputs) name = of(name);
    graph::each_graph(node, [&](Graph& inner) {
      apply(inner);
      // A graph inside a node may give out a value from around it.
      for (graph::ValueInfo& one : inner.outputs) {
        if (const std::string& now = of(one.name.str()); now != one.name.str()) one.name = graph::Text(now);
      }
    });
  }
}

void remove_nodes(Graph& graph, const std::vector<bool>& removed) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (removed[i]) continue;
    if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

bool is(const Node& node, std::string_view op_type) {
  return node.op_type == op_type && graph::canonical_domain(node.domain.str()).empty();
}

namespace {

template <class T>
const T* value_of(const Node& node, std::string_view name) {
  const Attribute* attribute = node.attribute(name);
  return attribute ? std::get_if<T>(&attribute->value) : nullptr;
}

template <class T>
Tensor make_tensor(std::string name, ElementType type, std::vector<std::int64_t> dims,
                   std::vector<T> values) {
  Tensor tensor;
  tensor.name = graph::Text(std::move(name));
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(values));
  return tensor;
}

template <class T, class As>
std::vector<As> contents(const Tensor& tensor) {
  std::vector<As> values(tensor.data.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<As>(tensor.data.at<T>(i));
  return values;
}

}  // namespace

std::int64_t integer(const Node& node, std::string_view name, std::int64_t otherwise) {
  const auto* value = value_of<std::int64_t>(node, name);
  return value ? *value : otherwise;
}

double real(const Node& node, std::string_view name, double otherwise) {
  const auto* value = value_of<float>(node, name);
  return value ? static_cast<double>(*value) : otherwise;
}

std::string_view text(const Node& node, std::string_view name, std::string_view otherwise) {
  const auto* value = value_of<std::string>(node, name);
  return value ? std::string_view(*value) : otherwise;
}

std::optional<std::vector<std::int64_t>> integers(const Node& node, std::string_view name) {
  const auto* value = value_of<std::vector<std::int64_t>>(node, name);
  return value ? std::optional(*value) : std::nullopt;
}

const std::string& input(const Node& node, std::size_t i) {
  static const std::string none;
  return i < node.inputs.size() ? node.inputs[i] : none;
}

void set_attribute(Node& node, std::string_view name, Attribute::Value value, graph::AttributeKind kind) {
  remove_attribute(node, name);
  Attribute made;
  made.name = graph::Text(name);
  made.kind = static_cast<std::int32_t>(kind);
  made.value = std::move(value);
  node.attributes.push_back(std::move(made));
}

void remove_attribute(Node& node, std::string_view name) {
  std::erase_if(node.attributes, [&](const Attribute& one) { return one.name == name; });
}

Node identity(std::string from, std::string to) {
  Node node;
  node.op_type = graph::Text("Identity");
  node.inputs = {std::move(from)};
  node.outputs = {std::move(to)};
  return node;
}

Tensor tensor_of(std::string name, std::vector<std::int64_t> dims, std::vector<float> values) {
  return make_tensor(std::move(name), ElementType::float32, std::move(dims), std::move(values));
}

Tensor tensor_of(std::string name, std::vector<std::int64_t> dims, std::vector<std::int64_t> values) {
  return make_tensor(std::move(name), ElementType::int64, std::move(dims), std::move(values));
}

std::optional<std::vector<float>> floats(const Tensor* tensor) {
  if (!tensor || tensor->type() != ElementType::float32) return std::nullopt;
  return contents<float, float>(*tensor);
}

std::optional<std::vector<std::int64_t>> whole_numbers(const Tensor* tensor) {
  if (tensor && tensor->type() == ElementType::int64) return contents<std::int64_t, std::int64_t>(*tensor);
  if (tensor && tensor->type() == ElementType::int32) return contents<std::int32_t, std::int64_t>(*tensor);
  return std::nullopt;
}

std::optional<float> number(const Tensor* tensor) {
  if (!tensor || tensor->type() != ElementType::float32 || tensor->count() != 1) return std::nullopt;
  return tensor->data.at<float>(0);
}

}  // namespace anybit::passes
