#include "api/declarations.hpp"

#include <unordered_map>

#include "graph/index.hpp"
#include "ops/infer.hpp"

namespace anybit {
namespace {

using Shapes = std::unordered_map<std::string_view, const ops::Shape*>;  // by value
using ShapesOfGraphs = std::unordered_map<const graph::Graph*, Shapes>;

graph::Dimension dimension_of(const ops::Dim& dim) {
  graph::Dimension result;
  if (dim.known()) {
    result.value = *dim.size;
  } else if (!dim.symbol.empty()) {
    result.value = dim.symbol;
  }
  return result;
}

bool agrees(const graph::Dimension& declared, const ops::Dim& inferred) {
  return !declared.known() || !inferred.known() || declared.size() == *inferred.size;
}

// Dimensions that agree keep their declaration, with its symbols.
void correct(graph::Shape& declared, const ops::Shape& inferred) {
  const bool ranks = declared.dims.size() == inferred.size();
  if (!ranks) declared.dims.assign(inferred.size(), {});
  for (std::size_t i = 0; i < inferred.size(); ++i) {
    if (!ranks || !agrees(declared.dims[i], inferred[i])) declared.dims[i] = dimension_of(inferred[i]);
  }
}

void correct(std::vector<graph::ValueInfo>& declared, const Shapes& inferred) {
  for (graph::ValueInfo& one : declared) {
    const auto found = inferred.find(one.name.str());
    if (found == inferred.end() || !one.type) continue;
    auto* type = std::get_if<graph::TensorType>(&one.type->kind);
    if (type && type->shape) correct(*type->shape, *found->second);
  }
}

void correct(graph::Graph& graph, const ShapesOfGraphs& inferred) {
  if (const auto found = inferred.find(&graph); found != inferred.end()) {
    correct(graph.value_info, found->second);
    correct(graph.outputs, found->second);
  }
  for (graph::Node& node : graph.nodes)
    graph::each_graph(node, [&](graph::Graph& inner) { correct(inner, inferred); });
}

}  // namespace

Result<std::vector<Error>> correct_declarations(graph::Model& model, const Limits& limits) {
  auto inference = ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits});
  std::vector<Error> remarks;
  if (!inference.ok()) return remarks;
  if (!inference->contradictions.empty()) return std::move(inference->contradictions.front());
  ShapesOfGraphs shapes;
  for (ops::Correction& one : inference->corrections) {
    shapes[inference->graphs[one.graph].graph].emplace(one.name, &one.shape);
    one.error.hint = "the inferred shape is used, and declared in what is saved";
    remarks.push_back(std::move(one.error));
  }
  if (!shapes.empty()) correct(*model.graph, shapes);
  return remarks;
}

}  // namespace anybit
