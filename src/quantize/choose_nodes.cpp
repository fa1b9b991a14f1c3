#include "quantize/choose_nodes.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "lower/dynamic.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;

class Chooser {
 public:
  Chooser(const Scope& scope, const std::vector<Scheme>& schemes, const std::vector<bool>& named,
          std::vector<Part>& parts, GraphNotes& notes)
      : scope_(scope), schemes_(schemes), named_(named), parts_(parts), notes_(notes) {
    chosen_.is_static.assign(parts.size(), false);
  }

  void run() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!computes(i)) continue;
      const Spec& data = *scheme(i).data_in;
      parts_[i].dynamic = data.is_dynamic();
      const bool has_data = !parts_[i].traits->data.empty();
      if (data.is_dynamic())
        choose_dynamic(i);
      else if (data.is_float() && parts_[i].weights.empty())
        leave(i, "it has no constant weights");
      else
        chosen_.is_static[i] = has_data && data.is_static() && !parts_[i].data.empty();
    }
    join_biases();
    bool changes = true;
    for (int round = 0; round < kRounds && changes; ++round) {
      changes = sweep_down();
      changes = sweep_up() || changes;
    }
    sweep_down();
    sweep_up();
    if (take_named()) {
      sweep_down();
      sweep_up();
    }
  }

  ChosenNodes take() { return std::move(chosen_); }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  std::size_t count() const { return parts_.size(); }
  const Scheme& scheme(std::size_t i) const { return schemes_[i]; }
  bool computes(std::size_t i) const { return parts_[i].kind == Part::Kind::compute; }

  void leave(std::size_t i, std::string reason) {
    parts_[i].kind = Part::Kind::left;
    chosen_.is_static[i] = false;
    notes_.nodes[i].reason = std::move(reason);
  }

  // Pass-through and elementwise nodes follow their neighbors. One that a rule names, and that is not between
  // Q and DQ, is quantized by itself. Returns true if there is one.
  bool take_named() {
    bool any = false;
    for (std::size_t i = 0; i < count(); ++i) {
      const bool passes = parts_[i].kind == Part::Kind::move || parts_[i].kind == Part::Kind::element;
      if (!passes || chosen_.joined.count(static_cast<int>(i)) || !named_[i] || parts_[i].data.empty())
        continue;
      if (!scheme(i).data_in->is_static()) continue;
      const bool between =
          chosen_.is_made(node(i).inputs[static_cast<std::size_t>(parts_[i].data[0])]) &&
          std::ranges::any_of(node(i).outputs, [&](const auto& one) { return chosen_.is_taken(one); });
      chosen_.is_static[i] = !between;
      any |= chosen_.is_static[i];
    }
    return any;
  }

  // A constant vector that is added to a linear operator becomes its bias, which is added to the int32
  // accumulators.
  void join_biases() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!chosen_.is_static[i] || node(i).op_type.str() != "MatMul") continue;
      const int user = scope_.index.only_user(node(i).outputs[0]);
      if (user < 0) continue;
      const auto u = static_cast<std::size_t>(user);
      if (node(u).op_type.str() != "Add" || parts_[u].constants.size() != 1 || parts_[u].data.size() != 1 ||
          parts_[u].held)
        continue;
      const std::string& row = node(u).inputs[static_cast<std::size_t>(parts_[u].constants[0])];
      const graph::Tensor* tensor = scope_.constant(row);
      if (tensor->dims.empty() || tensor->count() != tensor->dims.back()) continue;
      parts_[u].kind = Part::Kind::element;
      chosen_.is_static[u] = false;
      chosen_.joined.insert(user);
    }
  }

  // Without a dynamically quantized form of the operator, only its weights are quantized: embeddings, GRU.
  void choose_dynamic(std::size_t i) {
    const Spec& weight = *scheme(i).weight;
    const bool table = parts_[i].data.empty() && !parts_[i].heavy;
    if (weight.is_float() || parts_[i].weights.empty() || !(parts_[i].heavy || table))
      return leave(i, "only linear operators with constant weights are quantized dynamically");
    std::vector<const graph::Tensor*> weights;
    for (const int input : parts_[i].weights)
      weights.push_back(scope_.constant(node(i).inputs[static_cast<std::size_t>(input)]));
    std::optional<std::string> reason =
        lower::no_dynamic_form(node(i), weights, scheme(i).data_in->symmetric());
    if (!reason && !parts_[i].data.empty() && parts_[i].data.front() != 0)
      reason = "its activation is the right operand";
    if (!reason &&
        (graph::integer_range(weight.element()).bits != 8 || weight.granularity() == Granularity::block))
      reason = fmt::format("integer GEMM has no weights of {}", to_string(weight));
    parts_[i].dynamic = !table && !reason;
    if (table || !reason) return;
    notes_.nodes[i].reason = *reason + ": only its weights are quantized";
    notes_.nodes[i].less = true;
  }

  // Light operators without a rule of their own stay in float unless they are between Q and DQ.
  bool optional(std::size_t i) const { return chosen_.is_static[i] && !parts_[i].heavy && !named_[i]; }

  // Forward pass: collects values that quantized nodes produce, directly or through pass-through and
  // elementwise nodes. Returns true if a node was left in float.
  bool sweep_down() {
    chosen_.made.clear();
    bool changed = false;
    for (std::size_t i = 0; i < count(); ++i) {
      const bool all = !parts_[i].data.empty() && std::ranges::all_of(parts_[i].data, [&](int input) {
        return chosen_.made.count(node(i).inputs[static_cast<std::size_t>(input)]) != 0;
      });
      if (optional(i) && !all) {
        leave(i, kAlone);
        changed = true;
      }
      const bool passes = parts_[i].kind == Part::Kind::move ||
                          (parts_[i].kind == Part::Kind::element && !parts_[i].traits->sensitive);
      if (!chosen_.is_static[i] && !(passes && all) && !graph::dequantizes(node(i))) continue;
      chosen_.made.insert(node(i).outputs.begin(), node(i).outputs.end());
    }
    return changed;
  }

  // Backward pass: collects values that quantized nodes consume, likewise.
  bool sweep_up() {
    chosen_.used.clear();
    bool changed = false;
    for (std::size_t i = count(); i-- > 0;) {
      const bool used = std::ranges::any_of(
          node(i).outputs, [&](const std::string& one) { return chosen_.used.count(one) != 0; });
      if (optional(i) && !used) {
        leave(i, kAlone);
        changed = true;
      }
      const bool passes = parts_[i].kind == Part::Kind::move || parts_[i].kind == Part::Kind::element;
      if (graph::quantizes(node(i)) && !node(i).inputs.empty()) chosen_.used.insert(node(i).inputs[0]);
      if (!chosen_.is_static[i] && !(passes && used)) continue;
      for (const int input : parts_[i].data)
        chosen_.used.insert(node(i).inputs[static_cast<std::size_t>(input)]);
    }
    return changed;
  }

  static constexpr int kRounds = 100;  // bounds the passes for adversarial graphs
  static constexpr const char* kAlone = "not between Q and DQ";

  const Scope& scope_;
  const std::vector<Scheme>& schemes_;
  const std::vector<bool>& named_;
  std::vector<Part>& parts_;
  GraphNotes& notes_;
  ChosenNodes chosen_;
};

}  // namespace

ChosenNodes choose_nodes(const Scope& scope, const std::vector<Scheme>& schemes,
                         const std::vector<bool>& named, std::vector<Part>& parts, GraphNotes& notes) {
  Chooser chooser(scope, schemes, named, parts, notes);
  chooser.run();
  return chooser.take();
}

}  // namespace anybit::quantizing
