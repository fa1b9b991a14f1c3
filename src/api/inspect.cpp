#include "anybit/inspect.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "anybit/convert_opset.hpp"
#include "api/inspect_parameters.hpp"
#include "api/inspect_quantization.hpp"
#include "api/model_access.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "graph/type.hpp"
#include "ops/infer.hpp"
#include "portable/to_operators.hpp"

namespace anybit {
namespace {

std::int64_t saturated_add(std::int64_t a, std::int64_t b) { return checked_add(a, b).value_or(INT64_MAX); }

std::string domain_name(std::string_view domain) {
  const std::string_view canonical = graph::canonical_domain(domain);
  return canonical.empty() ? "ai.onnx" : std::string(canonical);
}

Inspection::Value summary(std::string name, const ops::Value& value,
                          const std::optional<graph::Type>& declared) {
  Inspection::Value result;
  result.name = std::move(name);
  if (value.type != ops::ElementType::undefined) result.element_type = graph::name_of(value.type);
  if (value.shape) {
    result.shape.emplace();
    for (const ops::Dim& dim : *value.shape) result.shape->push_back({dim.size, dim.symbol});
  }
  if (declared && !declared->tensor()) {
    result.type = graph::to_string(*declared);
  } else if (value.holder != ops::Holder::none) {
    result.type = ops::to_string(value);
  } else if (value.type == ops::ElementType::undefined && !value.shape) {
    result.type = "?";
  } else {
    result.type = (result.element_type.empty() ? "?" : result.element_type) +
                  (value.shape ? "[" + ops::to_string(*value.shape) + "]" : "[…]");
  }
  return result;
}

void describe_file(const Model& of, Inspection& result) {
  const Model::Content& content = ModelAccess::content(of);
  const graph::Model& model = content.model;
  result.path = content.path;
  result.file_bytes = ModelAccess::bytes_of(of);
  result.ir_version = model.ir_version.value_or(0);
  result.model_version = model.model_version;
  result.producer = model.producer.str();
  result.producer_version = model.producer_version.str();
  result.domain = model.domain.str();
  result.graph_name = model.graph->name.str();
  result.doc = model.doc.str();
  for (const graph::OpsetImport& one : model.opsets) {
    result.opsets.push_back({domain_name(one.domain.str()), one.version.value_or(0)});
  }
  for (const graph::Property& one : model.metadata)
    result.metadata.push_back({one.key.str(), one.value.str()});
}

// Initializers that older files also list as inputs are not shown as inputs.
void describe_interface(const graph::Graph& graph, const ops::Inference& inference, Inspection& result) {
  std::unordered_set<std::string_view> constants;
  for (const graph::Tensor& tensor : graph.initializers) constants.insert(tensor.name.str());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const graph::ValueInfo& info = graph.inputs[i];
    if (constants.contains(info.name.str())) continue;
    result.inputs.push_back(summary(info.name.str(), inference.inputs[i], info.type));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const graph::ValueInfo& info = graph.outputs[i];
    result.outputs.push_back(summary(info.name.str(), inference.outputs[i], info.type));
  }
}

bool fully_known(const ops::NodeFacts& facts) {
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    if (facts.node->outputs[i].empty()) continue;
    const auto& shape = facts.outputs[i].shape;
    if (!shape || !ops::numbers(*shape)) return false;
  }
  return true;
}

void count_work(const ops::NodeFacts& facts, Inspection::Operator& row, Inspection& result) {
  const bool counted = !facts.runs.is(0);
  if (!fully_known(facts)) ++result.unknown_shapes;
  if (!facts.multiplies || !counted) return;
  if (!facts.runs.known()) ++result.unknown_loops;
  const ops::Dim macs = facts.macs * (facts.runs.known() ? facts.runs : ops::Dim(1));
  if (!macs.known()) {
    ++row.unknown_macs;
    ++result.unknown_macs;
    return;
  }
  row.macs = saturated_add(row.macs, *macs.size);
  result.macs = saturated_add(result.macs, *macs.size);
}

Inspection::Node describe(const ops::NodeFacts& facts, const ops::Inference& inference) {
  const graph::Node& node = *facts.node;
  Inspection::Node result;
  result.name = node.name.str();
  result.domain = domain_name(node.domain.str());
  result.op = node.op_type.str();
  result.graph = inference.graphs[facts.graph].place;
  result.inputs = node.inputs;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    result.outputs.push_back(summary(node.outputs[i], facts.outputs[i], std::nullopt));
  }
  result.multiplies = facts.multiplies;
  if (facts.multiplies) result.macs = facts.macs.size;
  result.runs = facts.runs.size;
  return result;
}

void describe_nodes(const ops::Inference& inference, Inspection& result) {
  std::map<std::pair<std::string, std::string>, Inspection::Operator> operators;
  ConstantFlow flow(inference);
  QuantizationSurvey survey(flow);
  for (const ops::NodeFacts& facts : inference.nodes) {
    Inspection::Node node = describe(facts, inference);
    Inspection::Operator& row = operators[{node.domain, node.op}];
    row.domain = node.domain;
    row.name = node.op;
    row.known = facts.known;
    ++row.nodes;
    count_work(facts, row, result);
    flow.pass(facts);
    survey.pass(facts);
    for (const graph::Tensor* tensor : flow.claim(facts)) {
      node.parameters += tensor->count();
      row.parameters += tensor->count();
      row.parameter_bytes += bytes_of(*tensor);
    }
    result.nodes.push_back(std::move(node));
  }
  for (auto& [name, row] : operators) result.operators.push_back(std::move(row));
  std::stable_sort(result.operators.begin(), result.operators.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.macs, a.unknown_macs, a.parameters, a.nodes) >
           std::tuple(b.macs, b.unknown_macs, b.parameters, b.nodes);
  });
  result.node_count = std::ssize(result.nodes);
  result.quantized = survey.finish();
}

void describe_structure(const graph::Model& model, const ops::Inference& inference, Inspection& result) {
  for (std::size_t i = 1; i < inference.graphs.size(); ++i) {
    const ops::GraphFacts& facts = inference.graphs[i];
    result.subgraphs.push_back(
        {facts.place, static_cast<std::int64_t>(facts.depth), std::ssize(facts.graph->nodes)});
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> calls;
  for (const ops::NodeFacts& facts : inference.nodes) {
    const graph::Node& node = *facts.node;
    ++calls[{domain_name(node.domain.str()), node.op_type.str(), node.overload.str()}];
  }
  for (const graph::Function& function : model.functions) {
    const std::string domain = domain_name(function.domain.str());
    result.functions.push_back({domain, function.name.str(), function.overload.str(),
                                std::ssize(function.nodes),
                                calls[{domain, function.name.str(), function.overload.str()}]});
  }
  for (const graph::TrainingInfo& info : model.training) {
    Inspection::Training training;
    if (info.initialization) training.initialization_nodes = std::ssize((*info.initialization)->nodes);
    if (info.algorithm) training.algorithm_nodes = std::ssize((*info.algorithm)->nodes);
    training.bindings = std::ssize(info.initialization_bindings) + std::ssize(info.update_bindings);
    result.training.push_back(training);
  }
}

}  // namespace

Result<Inspection> inspect(const Model& inspected, const InspectOptions& options) noexcept {
  return guarded([&]() -> Result<Inspection> {
    const Model::Content& content = ModelAccess::content(inspected);
    graph::Model model = content.model;  // shares its tensors' data
    portable::to_operators(model);       // anybit's own functions are shown as operators
    ops::Inference inference = TRY(ops::infer(model, {options.input_shapes, options.dims, content.limits}));
    Inspection result;
    describe_file(inspected, result);
    describe_interface(*model.graph, inference, result);
    count_parameters(model, result);
    describe_nodes(inference, result);
    describe_structure(content.model, inference, result);
    result.problems = content.remarks;
    std::ranges::move(inference.problems, std::back_inserter(result.problems));
    if (std::string newer = newer_opset(inspected); !newer.empty()) {
      result.problems.push_back(invalid_model(
          "model", std::move(newer), "operators that changed since then run as they were; a newer anybit"));
    }
    return result;
  });
}

}  // namespace anybit
