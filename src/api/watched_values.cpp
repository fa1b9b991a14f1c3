#include "api/watched_values.hpp"

#include <set>

#include "base/try.hpp"
#include "ops/infer.hpp"
#include "passes/masks.hpp"

namespace anybit {
namespace {

using graph::ElementType;

bool may_be_real(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float64 || type == ElementType::undefined;
}

}  // namespace

Result<std::vector<calibrate::Watched>> watched_values(const graph::Model& model, bool bins,
                                                       const Limits& limits) {
  const ops::Inference facts = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  std::set<std::string> names;  // sibling graphs may use the same names
  for (const ops::GraphFacts& one : facts.graphs) {
    // Since IR 4 an initializer that is also an input is a default, not a constant.
    std::set<std::string> constants;
    if (model.ir_version.value_or(0) < 4) {
      for (const graph::Tensor& tensor : one.graph->initializers) constants.insert(tensor.name.str());
    }
    for (const graph::ValueInfo& input : one.graph->inputs) {
      const graph::TensorType* type = input.type ? input.type->tensor() : nullptr;
      const bool real = may_be_real(type ? type->element_type() : ElementType::undefined);
      if (real && constants.count(input.name.str()) == 0) names.insert(input.name.str());
    }
  }
  for (const ops::NodeFacts& one : facts.nodes) {
    for (std::size_t i = 0; i < one.node->outputs.size(); ++i) {
      const bool known = i < one.outputs.size();
      if (one.node->outputs[i].empty() || (known && !may_be_real(one.outputs[i].type))) continue;
      if (one.node->op_type == "Constant") continue;
      names.insert(one.node->outputs[i]);
    }
  }
  std::set<std::string> masks;
  for (const ops::GraphFacts& one : facts.graphs) masks.merge(passes::masks_in(*one.graph));
  std::vector<calibrate::Watched> watched;
  std::vector<calibrate::Wanted> collect{{"moving-average"}};
  if (bins) collect.push_back({"bins"});
  for (const std::string& name : names) watched.push_back({name, collect, masks.count(name) != 0});
  return watched;
}

}  // namespace anybit
