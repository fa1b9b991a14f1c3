#include "refine/element_function.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Index;
using graph::Node;

constexpr std::size_t kMostNodes = 16;

bool is_elementwise(const Node& node) {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor || node.outputs.size() != 1) return false;
  return descriptor->traits.by_element || descriptor->traits.role_in(node) == ops::Traits::Role::element;
}

bool is_parameter(const graph::Tensor* constant, std::int64_t row) {
  return constant && (constant->count() == 1 || (constant->dims.size() == 1 && constant->count() == row));
}

// Grows a function node by node, in the order of the graph.
class Growth {
 public:
  Growth(const Graph& graph, const Index& index, const std::string& value, std::int64_t row)
      : graph_(graph), index_(index), row_(row) {
    add(value);
    while (!pending_.empty() && nodes_.size() < kMostNodes) {
      const int at = *pending_.begin();
      pending_.erase(pending_.begin());
      if (!fits(graph.nodes[static_cast<std::size_t>(at)])) continue;
      nodes_.push_back(at);
      const std::string& output = graph.nodes[static_cast<std::size_t>(at)].outputs[0];
      if (std::ranges::all_of(values_, [&](std::string_view one) { return stays_inside(one); }))
        closed_ = nodes_.size();
      add(output);
    }
    nodes_.resize(closed_);
  }

  // The longest prefix of which only the last value is used outside.
  const std::vector<int>& nodes() const { return nodes_; }

 private:
  void add(std::string_view value) {
    values_.insert(value);
    for (const Index::Use& use : index_.uses(value)) {
      if (use.node >= 0) pending_.insert(use.node);
    }
  }

  bool fits(const Node& node) const {
    return is_elementwise(node) && std::ranges::all_of(node.inputs, [&](const std::string& input) {
             return input.empty() || values_.contains(input) || is_parameter(index_.constant(input), row_);
           });
  }

  bool stays_inside(std::string_view value) const {
    return std::ranges::all_of(index_.uses(value), [&](const Index::Use& use) {
      return use.node >= 0 && use.input >= 0 && std::ranges::find(nodes_, use.node) != nodes_.end();
    });
  }

  const Graph& graph_;
  const Index& index_;
  const std::int64_t row_;
  std::set<int> pending_;
  std::unordered_set<std::string_view> values_;
  std::vector<int> nodes_;
  std::size_t closed_ = 0;
};

graph::ValueInfo float_value(const std::string& name) {
  graph::TensorType type;
  type.element = static_cast<std::int32_t>(graph::ElementType::float32);
  graph::ValueInfo info;
  info.name = name;
  info.type = graph::Type{std::move(type)};
  return info;
}

graph::Model model_of(const graph::Model& whole, const Index& index, const std::string& value,
                      const std::vector<int>& nodes) {
  graph::Model model;
  model.ir_version = whole.ir_version;
  model.opsets = whole.opsets;
  model.sources = whole.sources;
  Graph graph;
  std::unordered_set<std::string_view> held;
  for (const int at : nodes) {
    const Node& node = whole.graph->nodes[static_cast<std::size_t>(at)];
    graph.nodes.push_back(node);
    for (const std::string& input : node.inputs) {
      const graph::Tensor* constant = index.constant(input);
      if (!constant || !held.insert(input).second) continue;
      graph.initializers.push_back(*constant);
      graph.initializers.back().name = graph::Text(input);
    }
  }
  graph.inputs = {float_value(value)};
  graph.outputs = {float_value(graph.nodes.back().outputs[0])};
  model.graph = std::move(graph);
  return model;
}

}  // namespace

ElementFunction ElementFunction::after(const graph::Model& model, const Index& index,
                                       const std::string& value, std::int64_t row,
                                       const runtime::ExecutorOptions& with) {
  ElementFunction function;
  const Growth growth(*model.graph, index, value, row);
  if (growth.nodes().empty()) return function;
  auto part = std::make_shared<const graph::Model>(model_of(model, index, value, growth.nodes()));
  auto executor = runtime::Executor::make(
      std::move(part), {.threads = 1, .max_memory = with.max_memory, .limits = with.limits});
  if (executor.ok()) function.executor_ = std::move(executor.value());
  return function;
}

std::vector<float> ElementFunction::operator()(std::vector<float> x, std::int64_t row) const {
  const auto count = static_cast<std::int64_t>(x.size());
  const ops::Datum input(ops::Array::over(graph::ElementType::float32, {count / row, row},
                                          reinterpret_cast<std::byte*>(x.data())));
  const auto results = executor_->run(std::span(&input, 1));
  if (!results.ok() || !results.value()[0].is_array()) return {};
  const ops::Array& y = results.value()[0].array;
  if (y.type() != graph::ElementType::float32 || y.layout() != ops::Layout::plain || y.count() != count)
    return {};
  return {y.data<float>(), y.data<float>() + count};
}

}  // namespace anybit::quantizing
