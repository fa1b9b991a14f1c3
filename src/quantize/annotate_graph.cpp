#include "quantize/annotate_graph.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "passes/masks.hpp"
#include "quantize/annotate_constants.hpp"
#include "quantize/annotate_direct.hpp"
#include "quantize/choose_nodes.hpp"
#include "quantize/merged_constants.hpp"
#include "quantize/roles.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;
using lower::Place;

// Disjoint sets of names.
class Unions {
 public:
  std::string find(const std::string& name) {
    const auto found = parent_.find(name);
    if (found == parent_.end() || found->second == name) return name;
    return found->second = find(found->second);
  }
  void join(const std::string& a, const std::string& b) { parent_[find(b)] = find(a); }

 private:
  std::map<std::string, std::string> parent_;
};

class Annotator {
 public:
  Annotator(const Scope& scope, Matcher& matcher, const Target& target, GraphNotes& notes)
      : scope_(scope),
        matcher_(matcher),
        target_(target),
        notes_(notes),
        constants_(notes),
        parts_(parts_of(scope, matcher, notes)) {
    for (const NodeNote& note : notes_.nodes) schemes_.push_back(note.scheme);
  }

  Result<void> run() {
    TRY(leave_to_the_cpu());
    leave_masks();
    TRY(annotate_direct(
        scope_, parts_, target_, [&](std::size_t i) { return asked(i); }, io(), constants_, notes_));
    leave_direct_parts();
    std::vector<bool> by_rule;
    for (std::size_t i = 0; i < count(); ++i) by_rule.push_back(named(i));
    chosen_ = choose_nodes(scope_, schemes_, by_rule, parts_, notes_);
    find_wanted();
    join_clusters();
    TRY(find_tensor_rules());
    note_values();
    TRY(note_constants(scope_, parts_, schemes_, chosen_.is_static, target_, matcher_, constants_, notes_));
    name_outcomes();
    for (std::size_t i = 0; i < count() && notes_.node >= 0 && notes_.sign.empty(); ++i) {
      if (is_static(i)) notes_.sign = node(i).outputs[0];
    }
    return {};
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  std::size_t count() const { return parts_.size(); }
  // The scheme of a node without the parts that annotate_direct() handled.
  const Scheme& scheme(std::size_t i) const { return schemes_[i]; }
  bool computes(std::size_t i) const { return parts_[i].kind == Part::Kind::compute; }
  // It has static activations.
  bool is_static(std::size_t i) const { return chosen_.is_static[i]; }

  void leave(std::size_t i, std::string reason) {
    parts_[i].kind = Part::Kind::left;
    notes_.nodes[i].reason = std::move(reason);
  }

  // --- which nodes ---

  Result<void> leave_to_the_cpu() {
    for (std::size_t i = 0; i < count(); ++i) {
      const std::string& op = notes_.nodes[i].op;
      if (parts_[i].kind == Part::Kind::left) continue;
      const bool runs = target_.runs(op);
      if (runs && target_.runs_in(op, scheme(i))) {
        TRY(check_formats(i));
        continue;
      }
      const std::string in = runs ? fmt::format(" in {}", scheme(i).data_in->format()) : std::string();
      const bool named = matcher_.by_type(op) && !scheme(i).weight->is_float();
      if (named && target_.strict)
        return error_at(Code::invalid_argument, graph::place_of(node(i), i),
                        fmt::format("target {} does not run {}{}", target_.name, op, in),
                        "without --strict it stays in float, and a remark says so");
      leave(i, fmt::format("{} does not run it{}: it stays {}", target_.name, in,
                           runs ? "in float" : "on the CPU"));
      notes_.nodes[i].less = named;
    }
    return {};
  }

  // Targets without a matching activation format cannot use quantized weights.
  Result<void> check_formats(std::size_t i) const {
    Scheme as = scheme(i);
    const auto is_models = [&](int input) {
      return scope_.index.is_input(node(i).inputs[static_cast<std::size_t>(input)]);
    };
    if (io() && io()->data_in && std::ranges::any_of(parts_[i].data, is_models)) as.data_in = io()->data_in;
    const bool plain = as.weight->is_float() && (as.data_in->is_float() || parts_[i].data.empty());
    if (parts_[i].weights.empty() || plain) return {};
    auto checked = check_pair(as, target_);
    return checked.ok() ? checked : std::move(checked).error().within(graph::place_of(node(i), i));
  }

  // Parts that annotate_direct() handled count as float here.
  void leave_direct_parts() {
    for (std::size_t i = 0; i < count(); ++i) {
      Scheme& scheme = schemes_[i];
      const bool has_bias = scheme.bias.has_value();
      const bool data_in = is_direct_data(*scheme.data_in), weight = is_direct_weight(*scheme.weight);
      const bool data_out = is_direct_data(*scheme.data_out),
                 bias = has_bias && is_direct_weight(*scheme.bias);
      if (data_in) scheme.data_in = Spec{};
      if (weight) scheme.weight = Spec{};
      if (data_out) scheme.data_out = Spec{};
      if (bias) scheme.bias = Spec{};
      const bool any = data_in || weight || data_out || bias;
      if (any && scheme.data_in->is_float() && scheme.weight->is_float()) parts_[i].kind = Part::Kind::left;
    }
  }

  // A mask value such as -1e9 would waste the whole range; clipped, it would no longer mask.
  void leave_masks() {
    const std::set<std::string> masks = passes::masks_in(scope_.graph, passes::kHiding);
    const auto masked = [&](const std::string& value) { return masks.count(value) != 0; };
    for (std::size_t i = 0; i < count() && !masks.empty(); ++i) {
      if (parts_[i].kind == Part::Kind::left) continue;
      const bool takes = std::ranges::any_of(
          parts_[i].data, [&](int input) { return masked(node(i).inputs[static_cast<std::size_t>(input)]); });
      if (!takes && std::ranges::none_of(node(i).outputs, masked)) continue;
      leave(i, "its values include a mask of -1000 or less, which no range can hold beside other values");
      parts_[i].held = true;
      notes_.nodes[i].less = !notes_.nodes[i].scheme.data_in->is_float();
    }
  }

  Asked asked(std::size_t i) const {
    return named(i) ? Asked::named : matcher_.covers_all() ? Asked::with_all : Asked::no;
  }
  bool named(std::size_t i) const {
    return matcher_.named(subject_of(node(i), true, 0)) || matcher_.by_type(notes_.nodes[i].op);
  }
  // --- which values ---

  // The output of a node after a fused activation (Conv, Relu) that the quantization range implies.
  std::string result_of(std::size_t i) const {
    std::string value = node(i).outputs[0];
    while (true) {
      const int user = scope_.index.only_user(value);
      if (user < 0) return value;
      const auto u = static_cast<std::size_t>(user);
      const Part& part = parts_[u];
      if (part.kind != Part::Kind::element || !(part.traits->clamps || chosen_.joined.count(user)) ||
          part.data.empty() || node(u).inputs[static_cast<std::size_t>(part.data[0])] != value)
        return value;
      value = node(u).outputs[0];
    }
  }

  // Only MatMul has an ONNX integer form with float output.
  bool may_give_float(std::size_t i) const { return node(i).op_type.str() == "MatMul"; }

  void find_wanted() {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!is_static(i)) continue;
      if (parts_[i].kind == Part::Kind::move) {
        move_by_itself(i);
        continue;
      }
      for (const int input : parts_[i].data) want(i, input, *scheme(i).data_in);
      if (scheme(i).data_out->is_float()) continue;
      const std::string result = result_of(i);
      if (!scheme(i).data_out->is_integer() && !only_output(result)) continue;  // its consumers quantize it
      if (may_give_float(i) && !named(i) && !chosen_.is_taken(result)) continue;
      if (only_output(result) && io() && io()->data_out && io()->data_out->is_float()) continue;
      make(result, only_output(result) && io() && io()->data_out ? *io()->data_out : *scheme(i).data_out);
    }
    quantize_ports();
    // Pass-through nodes propagate the consumers' wishes backwards.
    for (std::size_t i = count(); i-- > 0;) {
      if (parts_[i].kind != Part::Kind::move) continue;
      for (const std::string& output : node(i).outputs) pass_on(i, output);
    }
    for (std::size_t i = 0; i < count(); ++i) pass_quantized_on(i);
  }

  // A pass-through node that is quantized by itself: its inputs and outputs share parameters. 8-bit floats do
  // not pass through (see pass_on): its output is quantized again.
  void move_by_itself(std::size_t i) {
    if (scheme(i).data_in->is_integer()) {
      carried_.insert(static_cast<int>(i));
      for (const int input : parts_[i].data) want(i, input, *scheme(i).data_in);
    }
    for (const std::string& output : node(i).outputs) {
      if (!output.empty()) make(output, *scheme(i).data_in);
    }
  }

  // Quantizes a value at its producer, unless the given model does so already.
  void make(const std::string& value, const Spec& spec) {
    const auto uses = scope_.index.uses(value);
    const bool quantized = !uses.empty() && std::ranges::all_of(uses, [&](const graph::Index::Use& use) {
      return use.node >= 0 && graph::quantizes(node(static_cast<std::size_t>(use.node)));
    });
    if (!quantized && !comes_quantized(value)) made_[value] = spec;
  }

  bool comes_quantized(const std::string& value) const {
    const int producer = scope_.index.producer(value);
    if (producer < 0) return false;
    const Node& maker = node(static_cast<std::size_t>(producer));
    return graph::dequantizes(maker) || maker.domain.str() == graph::kAnybit;
  }

  // Applies the rule for graph inputs and outputs.
  void quantize_ports() {
    if (!io()) return;
    for (const graph::ValueInfo& one : scope_.graph.inputs) {
      if (io()->data_in && io()->data_in->is_static() && has_floats(one))
        make(one.name.str(), *io()->data_in);
    }
    for (const graph::ValueInfo& one : scope_.graph.outputs) {
      const std::string& name = one.name.str();
      const bool computed = scope_.index.producer(name) >= 0;
      if (computed && io()->data_out && io()->data_out->is_static() && has_floats(one))
        make(name, *io()->data_out);
    }
  }

  // ONNX Runtime (1.31) inserts a Q/DQ pair after these operators if their input is quantized, and cannot
  // load the model if its opset is 21 or newer and the type is int8. Inserting the pair here, with the
  // parameters of the input, loses nothing.
  void pass_quantized_on(std::size_t i) {
    static constexpr std::string_view kTheirs[] = {"Reshape", "Transpose", "Slice",
                                                   "Squeeze", "Unsqueeze", "MaxPool"};
    if (parts_[i].kind != Part::Kind::move || carried_.count(static_cast<int>(i)) ||
        std::ranges::find(kTheirs, node(i).op_type.str()) == std::end(kTheirs) || parts_[i].data.size() != 1)
      return;
    const Spec* spec = made_as(node(i).inputs[static_cast<std::size_t>(parts_[i].data[0])]);
    const std::string& output = node(i).outputs[0];
    if (!spec || (only_output(output) && io() && io()->data_out)) return;
    made_[output] = *spec;
    carried_.insert(static_cast<int>(i));
  }

  // The spec with which a value is quantized at its producer; null: not quantized there.
  const Spec* made_as(const std::string& value) const {
    if (const auto made = made_.find(value); made != made_.end()) return &made->second;
    const auto wants = wanted_.find(value);
    if (wants == wanted_.end() || !wants->second.front().second.is_integer()) return nullptr;
    // The output of a pass-through or fused node on quantized values is quantized.
    const bool is_made = carried(value) || chosen_.is_made(value);
    return is_made ? &wants->second.front().second : nullptr;
  }

  const Scheme* io() const { return notes_.node < 0 ? matcher_.io() : nullptr; }

  bool only_output(const std::string& value) const {
    const auto uses = scope_.index.uses(value);
    return notes_.node < 0 && uses.size() == 1 && uses[0].node < 0;
  }

  void want(std::size_t i, int input, const Spec& spec) {
    const std::string& value = node(i).inputs[static_cast<std::size_t>(input)];
    Spec wanted = spec;
    if (io() && scope_.index.is_input(value) && io()->data_in) wanted = *io()->data_in;
    if (!wanted.is_float() && !comes_quantized(value))
      wanted_[value].emplace_back(Place{static_cast<int>(i), input}, wanted);
  }

  void pass_on(std::size_t i, const std::string& output) {
    const auto found = wanted_.find(output);
    if (found == wanted_.end() || carried_.count(static_cast<int>(i))) return;
    // 8-bit floats do not pass through: ONNX Runtime (1.31) has no MaxPool for them, and inserts a
    // DequantizeLinear.
    if (!found->second.front().second.is_integer()) return;
    carried_.insert(static_cast<int>(i));
    const Spec spec = found->second.front().second;
    for (const int input : parts_[i].data) want(i, input, spec);
  }

  // --- which parameters ---

  void join_clusters() {
    for (const int i : carried_) {
      const Node& mover = node(static_cast<std::size_t>(i));
      for (const int input : parts_[static_cast<std::size_t>(i)].data) {
        for (const std::string& output : mover.outputs) {
          if (wanted_.count(output) || made_.count(output))
            unions_.join(mover.inputs[static_cast<std::size_t>(input)], output);
        }
      }
    }
  }

  // Applies rules for tensors. A rule for one value applies to all that share its parameters.
  Result<void> find_tensor_rules() {
    if (!matcher_.has_tensors()) return {};
    std::map<std::string, std::string> by;  // the value whose rule it is
    const auto look_at = [&](const std::string& value, const Spec& spec) -> Result<void> {
      const Spec changed = TRY(matcher_.tensor(value, spec));
      if (changed == spec) return {};
      TRY(check_tensor(value, changed));
      const std::string root = unions_.find(value);
      const auto [found, is_new] = by_tensor_rule_.emplace(root, changed);
      by.emplace(root, value);
      if (is_new || found->second == changed) return {};
      return error_at(Code::invalid_argument, fmt::format("tensor '{}'", shown(value)),
                      fmt::format("it shares its parameters with '{}' through pass-through nodes, and their "
                                  "rules differ: {}, {}",
                                  shown(by.at(root)), to_string(changed), to_string(found->second)),
                      "the same for both, or a rule for one of them");
    };
    for (const auto& [value, spec] : made_) TRY(look_at(value, spec));
    for (const auto& [value, all] : wanted_) {
      for (const auto& [place, spec] : all) TRY(look_at(value, spec));
    }
    return {};
  }

  Result<void> check_tensor(const std::string& value, const Spec& spec) const {
    if (spec.granularity() != Granularity::tensor && spec.is_integer())
      return error_at(Code::invalid_argument, fmt::format("tensor '{}'", shown(value)),
                      fmt::format("'{}': activations have one scale per tensor", to_string(spec)),
                      "one scale");
    return check_data(spec, target_);
  }

  bool carried(const std::string& value) const {
    const int producer = scope_.index.producer(value);
    return producer >= 0 && carried_.count(producer) != 0;
  }

  // The cluster that quantizes `value` by `spec`.
  int cluster(const std::string& value, const Spec& asked) {
    const std::string root = unions_.find(value);
    const auto rule = by_tensor_rule_.find(root);
    const Spec& spec = rule == by_tensor_rule_.end() ? asked : rule->second;
    const auto key = std::make_pair(root, to_string(spec));
    const auto [found, is_new] = clusters_.emplace(key, static_cast<int>(notes_.clusters.size()));
    if (is_new) notes_.clusters.push_back({spec, {}});
    Cluster& one = notes_.clusters[static_cast<std::size_t>(found->second)];
    if (in_clusters_.emplace(found->second, value).second) {
      one.values.push_back(value);
      if (!carried(value)) one.sources.push_back(value);
    }
    return found->second;
  }

  void note_values() {
    const auto direct = std::ssize(notes_.values);
    std::set<std::string> values;
    for (const auto& [value, spec] : made_) values.insert(value);
    for (const auto& [value, all] : wanted_) values.insert(value);
    for (const std::string& value : values) note_value(value);
    // If a value has both, the run-time format comes after the static parameters.
    std::rotate(notes_.values.begin(), notes_.values.begin() + direct, notes_.values.end());
    for (const auto& [value, all] : wanted_) {
      for (const auto& [place, spec] : all) avoid_saturation(value, place, spec);
    }
    for (Cluster& one : notes_.clusters) fix_range(one);
    note_moved_constants(scope_, parts_, carried_, notes_);
  }

  void note_value(const std::string& value) {
    ValueNote note{value};
    const auto wants = wanted_.find(value);
    const Spec* spec = made_as(value);
    if (spec) note.made = cluster(value, *spec);
    if (wants != wanted_.end()) {
      for (const auto& [place, wanted] : wants->second) {
        const int id = cluster(value, wanted);
        if (id == note.made) continue;
        auto group = std::ranges::find(note.taken, id, &ValueNote::Taken::cluster);
        if (group == note.taken.end()) group = note.taken.insert(note.taken.end(), {id, {}});
        group->places.push_back(place);
      }
    }
    notes_.values.push_back(std::move(note));
  }

  // The right operand of a matrix multiplication of two activations. If it has other consumers, ONNX Runtime
  // (1.31) keeps it int8 while it converts the left operand to uint8, and the products can saturate:
  // reduce_range applies to weights only. As uint8 it represents the same values.
  void avoid_saturation(const std::string& value, const Place& place, const Spec& spec) {
    const auto i = static_cast<std::size_t>(place.node);
    if (!parts_[i].heavy || !is_static(i) || place.input == 0 || spec.format() != "int8") return;
    Cluster& taken = notes_.clusters[static_cast<std::size_t>(cluster(value, spec))];
    if (!reduces_range(scheme(i), target_) || taken.spec.is_given())
      notes_.saturating.push_back(value);
    else
      taken.spec.use.format = "uint8";
  }

  // Sets the known range of a cluster whose sources all have one.
  void fix_range(Cluster& one) {
    if (!one.spec.is_static() || one.spec.is_given()) return;
    std::optional<ops::Traits::Range> range;
    for (const std::string& source : one.sources) {
      const int producer = scope_.index.producer(source);
      const ops::Traits* traits = producer < 0 ? nullptr : parts_[static_cast<std::size_t>(producer)].traits;
      if (!traits || !traits->range) return;
      if (!range) range = traits->range;
      range->low = std::min(range->low, traits->range->low);
      range->high = std::max(range->high, traits->range->high);
    }
    one.fixed = range;
  }

  // --- for the report ---

  void name_outcomes() {
    for (std::size_t i = 0; i < count(); ++i) {
      NodeNote& note = notes_.nodes[i];
      if (note.outcome != Outcome::left) continue;  // set by annotate_direct()
      if (is_static(i)) {
        note.outcome = Outcome::quantized;
      } else if (computes(i)) {
        note.outcome = parts_[i].dynamic ? Outcome::dynamic : Outcome::weights_only;
      } else if (carried_.count(static_cast<int>(i))) {
        note.outcome = Outcome::pass_through;
      } else if (parts_[i].kind == Part::Kind::element && chosen_.is_made(node(i).outputs[0]) &&
                 chosen_.is_taken(node(i).outputs[0])) {
        note.outcome = Outcome::fused;
      } else if (note.reason.empty()) {
        note.reason = "no quantized consumer";
      }
    }
  }

  const Scope& scope_;
  Matcher& matcher_;
  const Target& target_;
  GraphNotes& notes_;
  ConstantNotes constants_;
  std::vector<Part> parts_;
  std::vector<Scheme> schemes_;
  ChosenNodes chosen_;
  std::map<std::string, Spec> made_;
  std::map<std::string, std::vector<std::pair<Place, Spec>>> wanted_;
  std::set<int> carried_;  // pass-through nodes on quantized values
  Unions unions_;
  std::map<std::string, Spec> by_tensor_rule_;  // by the representative of unions_
  std::map<std::pair<std::string, std::string>, int> clusters_;
  std::set<std::pair<int, std::string>> in_clusters_;
};

}  // namespace

Result<void> annotate_one(const Scope& scope, Matcher& matcher, const Target& target, GraphNotes& notes) {
  return Annotator(scope, matcher, target, notes).run();
}

}  // namespace anybit::quantizing
