#include "api/inspect_parameters.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "ops/table.hpp"

namespace anybit {
namespace {

using graph::ElementType;
using graph::Tensor;

class Counter {
 public:
  void graph(const graph::Graph& graph) {
    for (const Tensor& tensor : graph.initializers) add(tensor);
    for (const graph::SparseTensor& sparse : graph.sparse_initializers) {
      if (sparse.values) add(*sparse.values);
      if (sparse.indices) external(*sparse.indices);
    }
    nodes(graph.nodes);
  }

  void nodes(const std::vector<graph::Node>& list) {
    for (const graph::Node& node : list) {
      const bool constant =
          node.op_type.str() == "Constant" && graph::canonical_domain(node.domain.str()).empty();
      for (const graph::Attribute& attribute : node.attributes) visit(attribute, constant);
    }
  }

  void finish(Inspection& result) {
    for (auto& [type, counted] : by_type_) {
      counted.type = graph::name_of(type);
      result.parameter_elements += counted.elements;
      result.parameter_bytes += counted.bytes;
      result.parameters.push_back(counted);
    }
    std::stable_sort(result.parameters.begin(), result.parameters.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    for (auto& [location, file] : files_) {
      file.location = location;
      result.data_files.push_back(file);
    }
  }

 private:
  void add(const Tensor& tensor) {
    count(tensor.type(), tensor.count(), bytes_of(tensor));
    external(tensor);
  }

  void count(ElementType type, std::int64_t elements, std::int64_t bytes) {
    Inspection::Parameters& row = by_type_[type];
    row.tensors += 1;
    row.elements += elements;
    row.bytes += bytes;
  }

  void external(const Tensor& tensor) {
    if (tensor.storage != graph::Storage::external) return;
    for (const graph::Property& property : tensor.external) {
      if (property.key.str() != "location") continue;
      Inspection::DataFile& file = files_[property.value.str()];
      file.tensors += 1;
      file.bytes += bytes_of(tensor);
    }
  }

  // The numeric attributes of Constant (value_float, …) hold parameters, too.
  void visit(const graph::Attribute& attribute, bool constant) {
    if (const auto* box = std::get_if<graph::GraphBox>(&attribute.value)) graph(**box);
    if (const auto* boxes = std::get_if<std::vector<graph::GraphBox>>(&attribute.value)) {
      for (const graph::GraphBox& box : *boxes) graph(*box);
    }
    const auto* tensor = std::get_if<Tensor>(&attribute.value);
    if (tensor && !constant) external(*tensor);
    if (!constant) return;
    if (tensor) add(*tensor);
    if (const auto* sparse = std::get_if<graph::SparseTensor>(&attribute.value); sparse && sparse->values) {
      add(*sparse->values);
    }
    if (std::holds_alternative<float>(attribute.value)) count(ElementType::float32, 1, 4);
    if (std::holds_alternative<std::int64_t>(attribute.value)) count(ElementType::int64, 1, 8);
    if (const auto* list = std::get_if<std::vector<float>>(&attribute.value)) {
      count(ElementType::float32, std::ssize(*list), 4 * std::ssize(*list));
    }
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      count(ElementType::int64, std::ssize(*list), 8 * std::ssize(*list));
    }
  }

  std::map<ElementType, Inspection::Parameters> by_type_;
  std::map<std::string, Inspection::DataFile> files_;
};

// Operators whose result holds all numbers of their inputs in another layout or type. Gather and similar do
// not count: they select rows, so the table is their weight.
bool rewrites(const ops::NodeFacts& facts) {
  const graph::Node& node = *facts.node;
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  const bool moves = descriptor && descriptor->traits.moves(node) && descriptor->traits.weights.empty();
  return (moves && facts.outputs.size() == 1) || graph::quantizes(node) || graph::dequantizes(node) ||
         graph::is(node, "Cast") || graph::is(node, "CastLike");
}

}  // namespace

std::int64_t bytes_of(const Tensor& tensor) {
  if (tensor.type() != ElementType::string) return static_cast<std::int64_t>(tensor.data.size());
  std::int64_t bytes = 0;
  for (const std::string& text : tensor.strings) bytes += std::ssize(text);
  return bytes;
}

void count_parameters(const graph::Model& model, Inspection& result) {
  Counter counter;
  counter.graph(*model.graph);
  for (const graph::Function& function : model.functions) counter.nodes(function.nodes);
  counter.finish(result);
}

ConstantFlow::ConstantFlow(const ops::Inference& inference) {
  for (const auto& [value, numbers] : inference.sparse) add(value, {numbers});
}

ConstantFlow::Source* ConstantFlow::behind(const ops::Value& value) const {
  const auto found = behind_.find(&value);
  return found != behind_.end() ? found->second : nullptr;
}

void ConstantFlow::add(const ops::Value* value, Source source) {
  sources_.push_back(std::move(source));
  behind_[value] = &sources_.back();
}

void ConstantFlow::pass(const ops::NodeFacts& facts) {
  for (const ops::Value* input : facts.inputs) {
    if (input->constant && !constant(*input)) add(input, {input->constant});
  }
  if (facts.inputs.empty() || facts.outputs.empty() || !rewrites(facts)) return;
  Source all;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    const ops::Value* input = facts.inputs[i];
    const bool given = !facts.node->inputs[i].empty();
    Source* const source = behind(*input);
    if (given && !source && (i == 0 || !input->elements)) return;
    if (source) all.parts.push_back(source);
  }
  if (!all.parts.empty()) add(&facts.outputs[0], std::move(all));
}

std::vector<const Tensor*> ConstantFlow::claim(const ops::NodeFacts& facts) {
  std::vector<const Tensor*> fresh;
  const bool hands_on = !facts.outputs.empty() && constant(facts.outputs[0]);
  if (hands_on) return fresh;  // the consumer of the result claims them
  std::vector<Source*> open;
  for (const ops::Value* input : facts.inputs) open.push_back(behind(*input));
  while (!open.empty()) {
    Source* const source = open.back();
    open.pop_back();
    if (!source || std::exchange(source->claimed, true)) continue;
    if (source->tensor && claimed_.insert(source->tensor).second) fresh.push_back(source->tensor);
    open.insert(open.end(), source->parts.begin(), source->parts.end());
  }
  return fresh;
}

}  // namespace anybit
