// The view of a model as written: node by node, with types and shapes as far as they are known.
#include "base/try.hpp"
#include "codegen/store.hpp"
#include "codegen/view.hpp"
#include "graph/index.hpp"
#include "ops/infer.hpp"

namespace anybit::codegen {
namespace {

using graph::Graph;
using graph::Node;

class WrittenView final : public View {
 public:
  explicit WrittenView(const graph::Model& model) : model_(model) {}

  Result<void> make(const Source& source, const InputShapes& shapes) {
    facts_ = TRY(ops::infer(model_, {.input_shapes = shapes, .dims = {}, .limits = source.limits}));
    for (const ops::NodeFacts& one : facts_.nodes) of_node_[one.node] = &one;
    for (const ops::GraphFacts& one : facts_.graphs) of_graph_[one.graph] = &one;
    view_.path = store_.text(source.path);
    view_.name = store_.text(model_.graph->name.str());
    view_.hash = store_.text(source.hash);
    view_.graph = graph(*model_.graph, nullptr);
    return {};
  }

 private:
  // The values of a graph while it is converted.
  struct Scope {
    Scope* parent = nullptr;
    std::unordered_map<std::string, std::int32_t> numbers = {};
    std::vector<anybit_value> values = {};
    std::vector<std::int32_t> outer = {}, inner = {};

    std::int32_t add(const std::string& name, const anybit_value& value) {
      const auto number = static_cast<std::int32_t>(values.size());
      numbers[name] = number;
      values.push_back(value);
      return number;
    }
    // -1 for a value that is left out; a value of an enclosing graph is captured.
    std::int32_t find(const std::string& name) {
      if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
      const std::int32_t above = parent && !name.empty() ? parent->find(name) : -1;
      if (above < 0) return -1;
      outer.push_back(above);
      inner.push_back(add(name, parent->values[static_cast<std::size_t>(above)]));
      return inner.back();
    }
  };

  void add_inputs(const Graph& graph, Scope& scope);
  anybit_node node(const Node& node, Scope& scope);
  const anybit_graph* graph(const Graph& graph, Scope* around);

  const graph::Model& model_;
  ops::Inference facts_;
  std::unordered_map<const Node*, const ops::NodeFacts*> of_node_;
  std::unordered_map<const Graph*, const ops::GraphFacts*> of_graph_;
  Store store_;
};

void WrittenView::add_inputs(const Graph& graph, Scope& scope) {
  const auto facts = of_graph_.find(&graph);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name.str();
    scope.add(name, store_.value(name, facts == of_graph_.end() ? ops::Value() : *facts->second->inputs[i]));
  }
  // An initializer that is also an input is its default: the input has data.
  for (const graph::Tensor& one : graph.initializers) {
    const anybit_value value = store_.value(one.name.str(), one);
    const auto found = scope.numbers.find(one.name.str());
    if (found == scope.numbers.end()) {
      scope.add(one.name.str(), value);
    } else {
      scope.values[static_cast<std::size_t>(found->second)] = value;
    }
  }
  for (const graph::SparseTensor& one : graph.sparse_initializers) {
    const ops::Shape shape(one.dims.begin(), one.dims.end());
    scope.add(one.values->name.str(),
              store_.value(one.values->name.str(), ops::tensor(one.values->type(), shape)));
  }
}

anybit_node WrittenView::node(const Node& node, Scope& scope) {
  const auto facts = of_node_.find(&node);
  std::vector<anybit_attribute> attributes;
  for (const graph::Attribute& one : node.attributes) {
    const auto* box = std::get_if<graph::GraphBox>(&one.value);
    attributes.push_back(store_.attribute(one, box ? graph(**box, &scope) : nullptr));
  }
  std::vector<std::int32_t> inputs, outputs;
  for (const std::string& name : node.inputs) inputs.push_back(scope.find(name));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ops::Value known = facts == of_node_.end() ? ops::Value() : facts->second->outputs[i];
    const std::string& name = node.outputs[i];
    outputs.push_back(name.empty() ? -1 : scope.add(name, store_.value(name, known)));
  }
  const std::string_view domain = graph::canonical_domain(node.domain.str());
  const ops::Descriptor* descriptor = ops::find(domain, node.op_type.str());
  const std::int64_t opset = model_.opset(domain).value_or(1);
  anybit_node result{};
  result.name = store_.text(node.name.str());
  result.op = store_.text(node.op_type.str());
  result.domain = store_.text(domain);
  result.version = descriptor ? ops::version_in(*descriptor, opset).value_or(opset) : opset;
  result.input_count = inputs.size();
  result.output_count = outputs.size();
  result.attribute_count = attributes.size();
  result.inputs = store_.list(std::move(inputs));
  result.outputs = store_.list(std::move(outputs));
  result.attributes = store_.list(std::move(attributes));
  return result;
}

const anybit_graph* WrittenView::graph(const Graph& graph, Scope* around) {
  Scope scope{around};
  add_inputs(graph, scope);
  std::vector<anybit_node> nodes;
  for (const Node& one : graph.nodes) nodes.push_back(node(one, scope));
  std::vector<std::int32_t> inputs, outputs;
  for (const graph::ValueInfo& one : graph.inputs) inputs.push_back(scope.find(one.name.str()));
  for (const graph::ValueInfo& one : graph.outputs) outputs.push_back(scope.find(one.name.str()));
  anybit_graph result{};
  result.value_count = scope.values.size();
  result.node_count = nodes.size();
  result.input_count = inputs.size();
  result.output_count = outputs.size();
  result.capture_count = scope.outer.size();
  result.values = store_.list(std::move(scope.values));
  result.nodes = store_.list(std::move(nodes));
  result.inputs = store_.list(std::move(inputs));
  result.outputs = store_.list(std::move(outputs));
  result.capture_outer = store_.list(std::move(scope.outer));
  result.capture_inner = store_.list(std::move(scope.inner));
  return store_.list(std::vector{result});
}

}  // namespace

Result<std::unique_ptr<View>> written_view(const Source& source, const InputShapes& shapes) {
  auto view = std::make_unique<WrittenView>(source.model);
  TRY(view->make(source, shapes));
  return std::unique_ptr<View>(std::move(view));
}

}  // namespace anybit::codegen
