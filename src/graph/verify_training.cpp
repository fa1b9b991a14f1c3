// Training information: two more graphs, and the bindings of their outputs to initializers.
#include <fmt/format.h>

#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

using NameSet = std::unordered_set<std::string_view>;

void add_initializers(const Graph& graph, NameSet& names) {
  for (const Tensor& tensor : graph.initializers) names.insert(tensor.name.str());
  for (const SparseTensor& tensor : graph.sparse_initializers) names.insert(tensor.values->name.str());
}

Result<void> check_bindings(const std::vector<Property>& bindings, const std::optional<GraphBox>& graph,
                            const NameSet& initializers, const Place& place) {
  if (bindings.empty()) return {};
  TRY(check_properties(bindings, place, "initializer"));
  NameSet outputs;
  if (graph) {
    for (const ValueInfo& output : (*graph)->outputs) outputs.insert(output.name.str());
  }
  for (const Property& binding : bindings) {
    if (!initializers.contains(binding.key.str())) {
      return place.invalid(fmt::format("there is no initializer {}", quoted(binding.key.str())));
    }
    if (!outputs.contains(binding.value.str())) {
      return place.invalid(
          fmt::format("{} is not an output of the training graph", quoted(binding.value.str())));
    }
  }
  return {};
}

}  // namespace

Result<void> check_training(const TrainingInfo& training, const Context& context, Scope& scope,
                            const Place& place) {
  NameSet initializers;
  add_initializers(*context.model.graph, initializers);
  if (training.initialization) {
    Scope alone;  // the initialization graph has no inputs and does not see the model
    const Place here(&place, "initialization", (*training.initialization)->name.str());
    TRY(check_graph(**training.initialization, context, alone, here, 1, Role::inner));
  }
  if (training.algorithm) {
    const Place here(&place, "algorithm", (*training.algorithm)->name.str());
    TRY(check_graph(**training.algorithm, context, scope, here, 1, Role::inner));
    add_initializers(**training.algorithm, initializers);
  }
  TRY(check_bindings(training.initialization_bindings, training.initialization, initializers,
                     Place(&place, "initialization_binding")));
  return check_bindings(training.update_bindings, training.algorithm, initializers,
                        Place(&place, "update_binding"));
}

}  // namespace anybit::graph::verifier
