#include "graph/verify.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph {
namespace verifier {

Result<Imports> check_imports(const std::vector<OpsetImport>& opsets, const Place& place) {
  Imports imports;
  for (std::size_t i = 0; i < opsets.size(); ++i) {
    const std::string_view domain = canonical_domain(opsets[i].domain.str());
    const Place here(&place, "opset_import", {}, i);
    const std::int64_t version = opsets[i].version.value_or(0);
    if (version < 1) return here.invalid(fmt::format("version {} of the domain {}", version, quoted(domain)));
    const auto [entry, is_new] = imports.emplace(domain, version);
    if (!is_new && entry->second != version) {
      return here.invalid(
          fmt::format("versions {} and {} of the domain {}", entry->second, version, quoted(domain)),
          "import each domain once");
    }
  }
  return imports;
}

Result<void> check_properties(const std::vector<Property>& properties, const Place& place,
                              std::string_view what) {
  if (properties.size() < 2) return {};
  std::unordered_set<std::string_view> keys;
  for (const Property& property : properties) {
    if (!keys.insert(property.key.str()).second) {
      return place.invalid(fmt::format("{} {} is there twice", what, quoted(property.key.str())));
    }
  }
  return {};
}

}  // namespace verifier

namespace {

using namespace verifier;

constexpr std::int64_t kOldestIr = 3, kNewestIr = 13;

Result<void> check_ir_version(const Model& model) {
  if (!model.ir_version) return invalid_model("model", "has no IR version", "is it an ONNX model at all?");
  if (*model.ir_version >= kOldestIr && *model.ir_version <= kNewestIr) return {};
  return error_at(Code::unsupported, "model", fmt::format("IR version {}", *model.ir_version),
                  fmt::format("versions {} to {} are supported", kOldestIr, kNewestIr));
}

}  // namespace

Result<void> verify(const Model& model, const Limits& limits) {
  TRY(check_ir_version(model));
  const Place place(nullptr, "model");
  if (model.opsets.empty())
    return place.invalid("imports no operators", "name their version in opset_import");
  if (!model.graph) return place.invalid("has no graph");
  const Imports imports = TRY(check_imports(model.opsets, place));
  TRY(check_properties(model.metadata, place, "metadata key"));
  const Functions functions = TRY(index_functions(model));
  const Context context{limits, model, functions, imports};
  for (const Function& function : model.functions) TRY(check_function(function, context));
  Scope scope;
  const Place graph(nullptr, "graph", model.graph->name.str());
  TRY(check_graph(*model.graph, context, scope, graph, 1, Role::model));
  for (std::size_t i = 0; i < model.training.size(); ++i) {
    TRY(check_training(model.training[i], context, scope, Place(nullptr, "training_info", {}, i)));
  }
  return check_calls(model, functions, limits);
}

}  // namespace anybit::graph
