// Constant folding. Bounded: a result may be only little larger than the constants it replaces, so that a
// value broadcast to the size of an image stays a node. Not folded: random draws, nodes that fail (running
// them gives a better error), and weights that are stored quantized.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/thread_pool.hpp"
#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "ops/check.hpp"
#include "ops/evaluate.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

constexpr std::int64_t kMemory = std::int64_t{1} << 30;  // for all values of one graph
constexpr std::int64_t kNarrow = 1024;  // bytes by which a Cast may enlarge a narrow constant (keep_narrow)
constexpr std::int64_t kLarger = 256;   // limit of the total growth, in multiples of `growth`
// Larger results are recomputed in each run instead of stored, unless their inputs are as large.
constexpr std::int64_t kLargestToRun = std::int64_t{64} << 20;
constexpr std::int64_t kTimesToRun = 4;

// Chains of Concats of constants. Folded one by one, each would copy all parts before it, n²/2 elements in
// all. So a Concat whose only consumer is a Concat on the same axis waits for it, and the last one copies
// each part once.
class ConcatChains {
 public:
  // `uses`: how many inputs and outputs of graphs have this value. `watched` values are always computed.
  ConcatChains(const Graph& graph, const std::unordered_map<std::string, int>& uses,
               const std::set<std::string, std::less<>>& watched)
      : graph_(graph) {
    for (const Node& node : graph.nodes) {
      if (!is_concat(node)) continue;
      for (const std::string& name : node.inputs) {
        const auto found = uses.find(name);
        if (found != uses.end() && found->second == 1 && !watched.contains(name))
          consumers_.emplace(name, &node);
      }
    }
  }

  // Whether the node can wait for its consumer.
  bool joins(const Node& node) const {
    if (!is_concat(node)) return false;
    const auto found = consumers_.find(node.outputs[0]);
    return found != consumers_.end() && found->second->opset == node.opset &&
           graph::integer(*found->second, "axis", 1) == graph::integer(node, "axis", 1);
  }

  // Lets a node of constants wait.
  void wait(std::size_t node) { waiting_[graph_.nodes[node].outputs[0]] = node; }
  bool is_waiting(const std::string& value) const { return waiting_.contains(value); }

  struct Chain {
    Node node;                       // its inputs are the parts of all nodes that waited for it
    std::vector<std::size_t> nodes;  // these nodes
  };

  // Call it for a node that is about to be computed. Nothing if no node waits for it.
  std::optional<Chain> ending_at(const Node& node) {
    if (waiting_.empty()) return std::nullopt;
    if (is_concat(node)) waiting_.erase(node.outputs[0]);
    if (std::ranges::none_of(node.inputs, [&](const std::string& name) { return is_waiting(name); }))
      return std::nullopt;
    Chain chain{node, {}};
    chain.node.inputs.clear();
    std::vector<std::string> open(node.inputs.rbegin(), node.inputs.rend());
    while (!open.empty()) {
      std::string name = std::move(open.back());
      open.pop_back();
      const auto found = waiting_.find(name);
      if (found == waiting_.end()) {
        chain.node.inputs.push_back(std::move(name));
        continue;
      }
      const Node& before = graph_.nodes[found->second];
      open.insert(open.end(), before.inputs.rbegin(), before.inputs.rend());
      chain.nodes.push_back(found->second);
      waiting_.erase(found);
    }
    return chain;
  }

  // Nodes that still wait, the last one first: their consumer is not constant.
  std::vector<std::size_t> left() const {
    std::vector<std::size_t> nodes;
    for (const auto& [name, node] : waiting_) nodes.push_back(node);
    std::ranges::sort(nodes, std::ranges::greater{});
    return nodes;
  }

 private:
  static bool is_concat(const Node& node) {
    return graph::is(node, "Concat") && node.outputs.size() == 1 && !node.outputs[0].empty();
  }

  const Graph& graph_;
  std::unordered_map<std::string_view, const Node*> consumers_;  // by values that may wait
  std::unordered_map<std::string, std::size_t> waiting_;         // nodes by output
};

class Folder {
 public:
  Folder(graph::Model& model, const PassOptions& options)
      : model_(model),
        options_(options),
        constants_(constants_of(model, options)),
        memory_(options.memory ? options.memory : ops::Memory::make(kMemory)),
        resources_{memory_, pool_, options.budget} {
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
  using Inputs = std::vector<const ops::Datum*>;

  void count_uses(const Graph& graph) {
    for (const graph::ValueInfo& one : graph.outputs) ++uses_[one.name.str()];
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.inputs) ++uses_[name];
      graph::each_graph(node, [&](const Graph& inner) { count_uses(inner); });
    }
  }

  // Bytes that are freed if the value is removed: 0 if it has other consumers.
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
    // A Cast may enlarge narrow weights, such as float16: quantization needs their float32 values.
    return is(node, "Cast") && !options_.keep_narrow ? 4 * sum : sum;
  }

  // Largest allowed size of the results of a node.
  std::int64_t most(const Node& node, const Inputs& inputs) const {
    if (!options_.to_run) {
      const bool narrow = options_.keep_narrow && is(node, "Cast");
      return replaced_by(node) + (narrow ? std::min(options_.growth, kNarrow) : options_.growth);
    }
    std::int64_t sum = kLargestToRun;
    for (const ops::Datum* one : inputs)
      sum += one ? kTimesToRun * static_cast<std::int64_t>(one->array.byte_count()) : 0;
    return sum;
  }

  bool can_fold(const Node& node, const std::unordered_set<std::string_view>& given_out,
                const ConcatChains& chains) const {
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    if (!descriptor || !descriptor->run || !descriptor->pure || !descriptor->quantized.empty() ||
        descriptor->domain == graph::kAnybit || options_.keeps(node) ||
        functions_.count(node.domain.str() + "\n" + node.op_type.str()))
      return false;
    bool has_graphs = false;
    graph::each_graph(node, [&](const Graph&) { has_graphs = true; });
    if (has_graphs) return false;
    const bool from_constants = std::ranges::all_of(node.inputs, [&](const std::string& name) {
      return name.empty() || known_.count(name) || chains.is_waiting(name) || constants_.find(name);
    });
    // Outputs of a graph that is saved must be produced by a node.
    const bool leaves = !options_.to_run && std::ranges::any_of(node.outputs, [&](const std::string& name) {
      return given_out.count(name) != 0;
    });
    return from_constants && !leaves;
  }

  // Computes the outputs of a node, if possible and not too large, and adds them to known_.
  bool compute(const Node& node) {
    Inputs inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : value_of(name));
      if (!name.empty() && !inputs.back()) return false;
    }
    const ops::Descriptor& descriptor = *ops::find(node.domain.str(), node.op_type.str());
    const auto opset = node.opset.value_or(model_.opset(node.domain.str()).value_or(1));
    const auto version = ops::checked_version(descriptor, node, opset);
    if (!version.ok()) return false;
    const ops::Evaluation evaluation{node, descriptor, *version, inputs};
    const std::int64_t most = this->most(node, inputs);
    if (ops::expected_bytes(evaluation) > most) return false;
    auto outputs = ops::evaluate(evaluation, resources_, graph::place_of(node, 0));
    return outputs && take(node, *outputs, most);
  }

  bool take(const Node& node, std::vector<ops::Datum>& outputs, std::int64_t most) {
    std::int64_t bytes = 0;
    for (const ops::Datum& one : outputs) {
      if (!one.is_array() && !one.is_nothing()) return false;
      bytes += one.is_array() ? static_cast<std::int64_t>(one.array.byte_count()) : 0;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].is_nothing() != node.outputs[i].empty()) return false;
    }
    const std::int64_t more = std::max<std::int64_t>(0, bytes - replaced_by(node));
    if (bytes > most || (!options_.to_run && grown_ + more > kLarger * options_.growth)) return false;
    grown_ += more;
    // With several outputs it would be counted several times.
    if (node.outputs.size() == 1) replaced_[node.outputs[0]] = replaced_by(node);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!node.outputs[i].empty()) known_[node.outputs[i]] = std::move(outputs[i]);
    }
    return true;
  }

  // Null if unknown.
  const ops::Datum* value_of(const std::string& name) {
    if (const auto found = known_.find(name); found != known_.end()) return &found->second;
    const Tensor* constant = constants_.find(name);
    if (!constant) return nullptr;
    auto array = ops::Array::from(*constant, *memory_);
    return array.ok() ? &(known_[name] = std::move(array).value()) : nullptr;
  }

  std::int64_t fold(Graph& graph) {
    std::unordered_set<std::string_view> given_out;
    for (const graph::ValueInfo& one : graph.outputs) given_out.insert(one.name.str());
    std::vector<bool> removed(graph.nodes.size());
    ConcatChains chains(graph, uses_, options_.watched);
    const auto fold_at = [&](std::size_t i) {
      const auto chain = chains.ending_at(graph.nodes[i]);
      removed[i] = compute(chain ? chain->node : graph.nodes[i]);
      for (const std::size_t before : chain ? chain->nodes : std::vector<std::size_t>())
        removed[before] = removed[i];
    };
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!can_fold(graph.nodes[i], given_out, chains)) continue;
      if (chains.joins(graph.nodes[i])) {
        chains.wait(i);
      } else {
        fold_at(i);
      }
    }
    for (const std::size_t i : chains.left()) {
      if (chains.is_waiting(graph.nodes[i].outputs[0])) fold_at(i);
    }
    const auto changes = std::ranges::count(removed, true);
    if (changes > 0) put_in_place(graph, removed);
    known_.clear();
    return changes;
  }

  // Results that are still used become initializers.
  void put_in_place(Graph& graph, const std::vector<bool>& removed) const {
    std::unordered_set<std::string_view> wanted(options_.watched.begin(), options_.watched.end());
    for (const graph::ValueInfo& one : graph.outputs) wanted.insert(one.name.str());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!removed[i]) add_uses(graph.nodes[i], wanted);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string& name : graph.nodes[i].outputs) {
        if (!removed[i] || !wanted.count(name)) continue;
        Tensor& tensor = graph.initializers.emplace_back(known_.at(name).array.to_constant());
        tensor.name = graph::Text(name);
      }
    }
    remove_nodes(graph, removed);
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
  const graph::Constants constants_;
  std::shared_ptr<ops::Memory> memory_;
  ThreadPool pool_{1};
  ops::Resources resources_;
  std::set<std::string> functions_;
  std::int64_t grown_ = 0;
  std::unordered_map<std::string, int> uses_;
  std::unordered_map<std::string, std::int64_t> replaced_;  // replaced bytes by folded value
  std::unordered_map<std::string, ops::Datum> known_;       // folded values, and initializers that were used
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  return model.graph ? Folder(model, options).run() : 0;
}

}  // namespace

std::span<const Descriptor> fold_constants_descriptors() {
  static const Descriptor all[] = {{.name = "fold_constants",
                                    .order = 50,
                                    .summary = "computes nodes whose inputs are all constant",
                                    .run = run,
                                    .also = Also::running}};
  return all;
}

}  // namespace anybit::passes
