// What is computed from constants alone is computed now. Bounded: a result may be little
// larger than the constants that go away for it, so that a value stretched over a picture stays a node. Left
// alone: random draws, whatever fails (the run can say more), and weights that are stored quantized.
#include <algorithm>
#include <unordered_set>

#include "base/thread_pool.hpp"
#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "ops/attribute_kinds.hpp"
#include "ops/check.hpp"
#include "ops/evaluate.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

constexpr std::int64_t kMemory = std::int64_t{1} << 30;  // for all values of one graph that are looked at
constexpr std::int64_t kNarrow = 1024;  // bytes by which a Cast may make a constant larger that is to stay
constexpr std::int64_t kLarger = 256;   // times what one value may grow: all of them together

class Folder {
 public:
  Folder(graph::Model& model, const PassOptions& options)
      : model_(model), options_(options), facts_(model, options), constants_(constants_of(model, options)) {
    for (const graph::Function& one : model.functions)
      functions_.insert(one.domain.str() + "\n" + one.name.str());
    count_uses(*model.graph);
  }

  std::int64_t run() {
    std::int64_t changes = 0;
    each_graph_of(model_, [&](Graph& graph) { changes += fold(graph); });
    return changes;
  }

 private:
  void count_uses(const Graph& graph) {
    for (const graph::ValueInfo& one : graph.outputs) ++uses_[one.name.str()];
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.inputs) ++uses_[name];
      graph::each_graph(node, [&](const Graph& inner) { count_uses(inner); });
    }
  }

  // What goes away if the value does: nothing if others use it too.
  std::int64_t replaced_bytes(const std::string& name) const {
    const auto uses = uses_.find(name);
    if (uses == uses_.end() || uses->second != 1) return 0;
    if (const auto found = replaced_.find(name); found != replaced_.end()) return found->second;
    const Tensor* tensor = constants_.find(name);
    return tensor ? static_cast<std::int64_t>(tensor->data.size()) : 0;
  }

  std::int64_t replaced_by(const Node& node) const {
    std::int64_t sum = 0;
    for (const std::string& name : node.inputs) sum += name.empty() ? 0 : replaced_bytes(name);
    // Weights that are kept in a smaller type: quantization wants to see them.
    return is(node, "Cast") && !options_.keep_narrow ? 4 * sum : sum;
  }

  bool fits(const Node& node, std::int64_t bytes) const {
    const bool narrow = options_.keep_narrow && is(node, "Cast");
    return bytes <= replaced_by(node) + (narrow ? std::min(options_.growth, kNarrow) : options_.growth);
  }

  // Too large as far as can be told before it is computed.
  bool known_to_be_large(const Node& node) const {
    std::int64_t bytes = 0;
    for (const std::string& name : node.outputs) {
      const ops::Value& value = facts_.of(name);
      const ops::Dim count = value.shape ? ops::product(*value.shape) : ops::Dim();
      const graph::ElementTypeInfo* type = graph::find(value.type);
      if (count.known()) bytes += std::min(*count.size, kMemory) * (type ? std::max(1, type->bits / 8) : 1);
    }
    return !fits(node, bytes);
  }

  bool can_fold(const Node& node, const std::unordered_set<std::string>& folded,
                const std::unordered_set<std::string_view>& given_out) const {
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    if (!descriptor || !descriptor->run || !descriptor->pure || !descriptor->quantized.empty() ||
        descriptor->domain == graph::kAnybit || options_.keeps(node) ||
        functions_.count(node.domain.str() + "\n" + node.op_type.str()))
      return false;
    bool has_graphs = false;
    graph::each_graph(node, [&](const Graph&) { has_graphs = true; });
    if (has_graphs || node.inputs.size() < descriptor->required) return false;
    const bool from_constants = std::ranges::all_of(node.inputs, [&](const std::string& name) {
      return name.empty() || folded.count(name) || constants_.find(name);
    });
    const bool leaves = std::ranges::any_of(
        node.outputs, [&](const std::string& name) { return given_out.count(name) != 0; });
    return from_constants && !leaves && !known_to_be_large(node);
  }

  // The values of nodes that only need constants; those that could not be computed are missing.
  std::unordered_map<std::string, Tensor> compute(const std::vector<const Node*>& nodes) const {
    const auto memory = ops::Memory::make(kMemory);
    ThreadPool pool(1);
    const ops::Resources resources{memory, pool, options_.budget};
    std::unordered_map<std::string, ops::Datum> known;
    for (const Node* node : nodes) compute(*node, resources, known);
    std::unordered_map<std::string, Tensor> values;
    for (const Node* node : nodes) {
      for (const std::string& name : node->outputs) {
        const auto value = known.find(name);
        if (value == known.end() || !value->second.is_array()) continue;
        Tensor& tensor = values[name] = value->second.array.to_constant();
        tensor.name = graph::Text(name);
      }
    }
    return values;
  }

  // Adds the outputs of a node to what is known, if its inputs are and it can be computed within the budget.
  void compute(const Node& node, const ops::Resources& resources,
               std::unordered_map<std::string, ops::Datum>& known) const {
    std::vector<const ops::Datum*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : value_of(name, resources, known));
      if (!name.empty() && !inputs.back()) return;
    }
    const ops::Descriptor& descriptor = *ops::find(node.domain.str(), node.op_type.str());
    const auto version = ops::version_in(descriptor, model_.opset(node.domain.str()).value_or(1));
    if (!version || !ops::check_inputs(descriptor, node).ok() || !ops::check_attributes(node).ok()) return;
    auto outputs = ops::evaluate({node, descriptor, *version, inputs}, resources, graph::place_of(node, 0));
    for (std::size_t i = 0; outputs && i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) known[node.outputs[i]] = std::move((*outputs)[i]);
    }
  }

  // Null if it is not known.
  const ops::Datum* value_of(const std::string& name, const ops::Resources& resources,
                             std::unordered_map<std::string, ops::Datum>& known) const {
    if (const auto found = known.find(name); found != known.end()) return &found->second;
    const Tensor* constant = constants_.find(name);
    if (!constant) return nullptr;
    auto array = ops::Array::from(*constant, *resources.memory);
    return array.ok() ? &(known[name] = std::move(array).value()) : nullptr;
  }

  std::int64_t fold(Graph& graph) {
    std::unordered_set<std::string_view> given_out;
    for (const graph::ValueInfo& one : graph.outputs) given_out.insert(one.name.str());
    std::unordered_set<std::string> folded;
    std::vector<const Node*> candidates;
    for (const Node& node : graph.nodes) {
      if (!can_fold(node, folded, given_out)) continue;
      candidates.push_back(&node);
      folded.insert(node.outputs.begin(), node.outputs.end());
      note_replaced(node);
    }
    if (candidates.empty()) return 0;
    auto values = compute(candidates);
    // Again with what is known now: a node goes if all it needs is there, and it did not become too large.
    folded.clear();
    std::vector<bool> removed(graph.nodes.size());
    for (const Node* node : candidates) {
      std::int64_t bytes = 0;
      bool there = true;
      for (const std::string& name : node->outputs) {
        const auto value = values.find(name);
        there = there && (name.empty() || value != values.end());
        if (there && !name.empty()) bytes += static_cast<std::int64_t>(value->second.data.size());
      }
      for (const std::string& name : node->inputs)
        there = there && (name.empty() || folded.count(name) || constants_.find(name));
      const std::int64_t more = std::max<std::int64_t>(0, bytes - replaced_by(*node));
      if (!there || !fits(*node, bytes) || grown_ + more > kLarger * options_.growth) continue;
      grown_ += more;
      removed[static_cast<std::size_t>(node - graph.nodes.data())] = true;
      folded.insert(node->outputs.begin(), node->outputs.end());
    }
    return take(graph, removed, values);
  }

  void note_replaced(const Node& node) {
    // Shared among several outputs it would be counted several times.
    if (node.outputs.size() == 1) replaced_[node.outputs[0]] = replaced_by(node);
  }

  std::int64_t take(Graph& graph, const std::vector<bool>& removed,
                    std::unordered_map<std::string, Tensor>& values) const {
    std::unordered_set<std::string_view> wanted;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!removed[i]) add_uses(graph.nodes[i], wanted);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!removed[i]) continue;
      for (const std::string& name : graph.nodes[i].outputs) {
        if (wanted.count(name)) graph.initializers.push_back(std::move(values.at(name)));
      }
    }
    const auto changes = std::ranges::count(removed, true);
    remove_nodes(graph, removed);
    return changes;
  }

  static void add_uses(const Node& node, std::unordered_set<std::string_view>& used) {
    for (const std::string& name : node.inputs) {
      if (!name.empty()) used.insert(name);
    }
    graph::each_graph(node, [&](const Graph& inner) {
      for (const graph::ValueInfo& one : inner.outputs) used.insert(one.name.str());
      for (const Node& deeper : inner.nodes) add_uses(deeper, used);
    });
  }

  graph::Model& model_;
  const PassOptions& options_;
  const Facts facts_;
  const graph::Constants constants_;
  std::set<std::string> functions_;
  std::int64_t grown_ = 0;
  std::unordered_map<std::string, int> uses_;
  std::unordered_map<std::string, std::int64_t> replaced_;  // by a value that is computed from constants
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  return model.graph ? Folder(model, options).run() : 0;
}

}  // namespace

std::span<const Descriptor> fold_constants_descriptors() {
  static const Descriptor all[] = {{.name = "fold_constants",
                                    .order = 50,
                                    .summary = "what is computed from constants alone becomes a constant",
                                    .run = run}};
  return all;
}

}  // namespace anybit::passes
