#include "api/report_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "api/model_access.hpp"
#include "base/try.hpp"
#include "graph/type.hpp"
#include "ops/infer.hpp"
#include "portable/to_operators.hpp"

namespace anybit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 16;    // elements of an attribute that are shown
constexpr std::size_t kLongestText = 200;  // bytes of a text attribute that are shown

template <class T>
std::string text_of(const std::vector<T>& list) {
  const std::size_t shown = std::min(list.size(), kMostListed);
  const std::string rest = shown < list.size() ? fmt::format(", … ({} in all)", list.size()) : "";
  return fmt::format("[{}{}]",
                     fmt::join(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown), ", "), rest);
}

// As a person reads it: "[2, 2]", "SAME_UPPER", "float32[3]" for a tensor.
std::string text_of(const graph::Attribute::Value& value) {
  if (const auto* one = std::get_if<float>(&value)) return fmt::format("{}", *one);
  if (const auto* one = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *one);
  if (const auto* one = std::get_if<std::string>(&value)) return one->substr(0, kLongestText);
  if (const auto* one = std::get_if<graph::Tensor>(&value))
    return ops::to_string(ops::without_contents(ops::value_of(*one)));
  if (const auto* one = std::get_if<graph::Type>(&value)) return graph::to_string(*one);
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return text_of(*list);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return text_of(*list);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return text_of(*list);
  return "…";
}

// Names may be missing, and quantization renames some outputs: a node is known by its name and operator, or
// by its first output.
std::string by_name(const std::string& name, const std::string& op) { return name + '\0' + op; }

// The nodes and values of one model.
class Known {
 public:
  static Result<Known> of(const Model& model, const std::vector<RunProfile::Entry>& times) {
    Known known;
    graph::Model shown = ModelAccess::content(model).model;  // shares its tensors' data
    portable::to_operators(shown);
    known.take(TRY(ops::infer(shown, {{}, {}, ModelAccess::content(model).limits})));
    for (const RunProfile::Entry& one : times) {
      Work& work = known.work_[one.name];
      work.milliseconds += static_cast<double>(one.nanoseconds) * 1e-6;
      work.macs += one.macs;
    }
    return known;
  }

  const std::string* type(const std::string& value) const { return found(types_, value); }
  const std::string* input(const std::string& value) const { return found(inputs_, value); }
  const std::string* constant(const std::string& value) const { return found(constants_, value); }

  void describe(Json& row) const {
    const auto* facts = node(row);
    if (!facts) return;
    if (!facts->attributes.empty() && !row.contains("attributes")) row["attributes"] = facts->attributes;
    if (facts->macs && !row.contains("macs")) row["macs"] = *facts->macs;
  }
  // Work that a run has measured: also of nodes whose shapes are known only then. Fused nodes run as another
  // operator, under the name of the first.
  void time(Json& row, const char* key) const {
    const auto* work = found(work_, row["name"]);
    if (!work) return;
    row[key] = work->milliseconds;
    if (work->macs > 0 && !row.contains("macs")) row["macs"] = work->macs;
  }

 private:
  struct Node {
    Json attributes;
    std::optional<std::int64_t> macs;
  };
  struct Work {
    double milliseconds = 0;
    std::int64_t macs = 0;
  };

  template <class Map>
  static const typename Map::mapped_type* found(const Map& map, const std::string& key) {
    const auto place = map.find(key);
    return place == map.end() ? nullptr : &place->second;
  }

  const Node* node(const Json& row) const {
    const std::string& name = row["name"].get_ref<const std::string&>();
    if (!name.empty()) return found(nodes_, by_name(name, row["op"]));
    return row["out"].empty() ? nullptr : found(nodes_, by_name(row["out"][0], row["op"]));
  }

  void take(const ops::Inference& inference) {
    const graph::Graph& main = *inference.graphs[0].graph;
    for (std::size_t i = 0; i < main.inputs.size(); ++i)
      inputs_.emplace(main.inputs[i].name.str(), ops::to_string(ops::without_contents(inference.inputs[i])));
    for (const ops::GraphFacts& graph : inference.graphs) {
      for (const graph::Tensor& one : graph.graph->initializers)
        constants_.emplace(one.name.str(), ops::to_string(ops::without_contents(ops::value_of(one))));
    }
    for (const ops::NodeFacts& facts : inference.nodes) take(facts);
  }

  void take(const ops::NodeFacts& facts) {
    const graph::Node& node = *facts.node;
    Node row;
    for (const graph::Attribute& one : node.attributes) row.attributes[one.name.str()] = text_of(one.value);
    if (facts.multiplies) row.macs = facts.macs.size;
    const std::string& name = node.name.str();
    for (std::size_t i = 0; i < facts.outputs.size() && i < node.outputs.size(); ++i)
      types_.emplace(node.outputs[i], ops::to_string(ops::without_contents(facts.outputs[i])));
    if (name.empty() && node.outputs.empty()) return;
    nodes_.emplace(by_name(name.empty() ? node.outputs[0] : name, node.op_type.str()), std::move(row));
  }

  std::unordered_map<std::string, std::string> types_, inputs_, constants_;
  std::unordered_map<std::string, Node> nodes_;
  std::unordered_map<std::string, Work> work_;
};

// The first of the models that knows it.
const std::string* either(const std::vector<Known>& models,
                          const std::string* (Known::*look)(const std::string&) const,
                          const std::string& name) {
  for (const Known& one : models) {
    if (const std::string* text = (one.*look)(name)) return text;
  }
  return nullptr;
}

void add_types(const std::vector<Known>& models, Json& row) {
  Json types = Json::array();
  bool any = false;
  for (const auto& value : row["out"]) {
    const std::string* type = either(models, &Known::type, value);
    types.push_back(type ? *type : "");
    any = any || type;
  }
  if (any) row["types"] = std::move(types);
}

}  // namespace

Result<void> add_node_facts(const ReportInput& input, Json& document) {
  if (!input.before.model || !document.contains("nodes")) return {};
  // The prepared model, if there is one, has the nodes of the report; the original has all values.
  std::vector<Known> models;
  if (input.after.model) models.push_back(TRY(Known::of(*input.after.model, input.after.times)));
  models.push_back(TRY(Known::of(*input.before.model, input.before.times)));
  Json constants = Json::object();
  for (Json& row : document["nodes"]) {
    for (const Known& one : models) one.describe(row);
    add_types(models, row);
    if (input.after.model) models.front().time(row, "ms");
    models.back().time(row, input.after.model ? "ms_before" : "ms");
    for (const auto& value : row["in"]) {
      if (const std::string* type = either(models, &Known::constant, value))
        constants[value.get_ref<const std::string&>()] = *type;
    }
  }
  document["constants"] = std::move(constants);
  Json types = Json::array();
  for (const auto& value : document["inputs"]) {
    const std::string* type = either(models, &Known::input, value);
    types.push_back(type ? *type : "");
  }
  document["input_types"] = std::move(types);
  return {};
}

}  // namespace anybit
