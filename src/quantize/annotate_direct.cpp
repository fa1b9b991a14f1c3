#include "quantize/annotate_direct.hpp"

#include <cmath>
#include <map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/try.hpp"
#include "quantize/groups.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;
using lower::Place;

class DirectAnnotator {
 public:
  DirectAnnotator(const Scope& scope, const std::vector<Part>& parts, const Target& target,
                  const std::function<Asked(std::size_t)>& asked, ConstantNotes& constants, GraphNotes& notes)
      : scope_(scope), parts_(parts), target_(target), asked_(asked), constants_(constants), notes_(notes) {}

  Result<void> run(const Scheme* io) {
    if (io) quantize_ports(*io);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Result<void> done = look_at(i);
      if (!done.ok()) return std::move(done).error().within(graph::place_of(node(i), i));
    }
    return {};
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  const Scheme& scheme(std::size_t i) const { return notes_.nodes[i].scheme; }
  bool takes_data(std::size_t i) const { return is_direct_data(*scheme(i).data_in); }
  bool has_weights(std::size_t i) const { return is_direct_weight(*scheme(i).weight); }
  bool has_bias(std::size_t i) const { return scheme(i).bias && is_direct_weight(*scheme(i).bias); }
  bool makes_data(std::size_t i) const { return is_direct_data(*scheme(i).data_out); }

  // An embedding gathers rows of a constant table: only the table is quantized.
  bool embeds(std::size_t i) const {
    return parts_[i].data.empty() && !parts_[i].weights.empty() && has_weights(i);
  }

  bool takes_part(std::size_t i) {
    const Part& part = parts_[i];
    NodeNote& note = notes_.nodes[i];
    if (!part.traits || !scope_.makes_float(node(i)) || !target_.runs(note.op)) return false;
    const auto role = part.traits->role_in(node(i));
    const Asked asked = asked_(i);
    if (role == ops::Traits::Role::none) return false;
    if (role == ops::Traits::Role::move && !embeds(i) && asked != Asked::named) return false;
    if (part.heavy || asked != Asked::no || embeds(i)) return true;
    if (note.reason.empty())
      note.reason = "only linear operators use this format, unless a rule names the node or its type";
    return false;
  }

  Result<void> look_at(std::size_t i) {
    if (!takes_data(i) && !has_weights(i) && !has_bias(i) && !makes_data(i)) return {};
    if (joins_island(i)) return join_island(i);
    if (!takes_part(i)) return {};
    noted_ = false;
    const Part& part = parts_[i];
    const bool norm = part.traits->normalizes;
    if (takes_data(i)) {
      for (const int input : part.data) TRY(take(i, input));
      for (const int input : part.constants) TRY(store_data(i, input));
    }
    if (has_weights(i)) {
      for (const int input : part.weights) TRY(store_weight(i, input));
      if (norm) TRY(store_plain(i, 1, *scheme(i).weight));
    }
    if (has_bias(i)) TRY(store_plain(i, norm ? 2 : part.bias, *scheme(i).bias));
    if (makes_data(i)) TRY(make(i));
    if (scheme(i).compute == "float16" && part.heavy) compute_in_half(i);
    NodeNote& note = notes_.nodes[i];
    if (!noted_) {
      if (note.reason.empty()) note.reason = "it has no constant weights";
      return {};
    }
    note.outcome = takes_data(i) && !part.data.empty() ? Outcome::quantized : Outcome::weights_only;
    note.reason.clear();
    return {};
  }

  // --- islands of float16 ---

  void compute_in_half(std::size_t i) {
    notes_.half.push_back(static_cast<int>(i));
    if (!target_.islands) return;
    const ops::NodeFacts* known = scope_.facts().find(node(i));
    for (std::size_t k = 0; known && k < std::min(node(i).outputs.size(), known->outputs.size()); ++k) {
      if (known->outputs[k].type == graph::ElementType::float32) halves_.insert(node(i).outputs[k]);
    }
  }

  // A light operator joins if it needs no conversion of large values: its inputs are in float16 already, or
  // broadcast to one that is, and float16 can hold its constants.
  bool joins_island(std::size_t i) const {
    const Part& part = parts_[i];
    const bool light = part.traits && !part.heavy && !part.held && !part.traits->sensitive &&
                       part.kind != Part::Kind::left && node(i).outputs.size() == 1;
    if (!light || scheme(i).compute != "float16" || !target_.islands || !target_.runs(notes_.nodes[i].op))
      return false;
    bool any = false;
    for (std::size_t k = 0; k < node(i).inputs.size(); ++k) {
      const std::string& name = node(i).inputs[k];
      if (name.empty() || !scope_.is_float(node(i), k)) continue;
      const graph::Tensor* tensor = scope_.constant(name);
      if (tensor ? !fits_half(i, *tensor) : halves_.count(name) == 0 && !is_broadcast(i, k)) return false;
      any |= halves_.count(name) != 0;
    }
    return any;
  }

  // Whether an input of an elementwise operator has size 1 along an axis of the result that is longer.
  bool is_broadcast(std::size_t i, std::size_t input) const {
    const ops::NodeFacts* known = scope_.facts().find(node(i));
    if (!known || !parts_[i].traits->by_element || !known->inputs[input]->shape || !known->outputs[0].shape)
      return false;
    const ops::Shape &mine = *known->inputs[input]->shape, &all = *known->outputs[0].shape;
    for (std::size_t k = 0; k < std::min(mine.size(), all.size()); ++k) {
      if (mine[mine.size() - 1 - k].is(1) && !all[all.size() - 1 - k].is(1)) return true;
    }
    return mine.size() < all.size();
  }

  // No element becomes infinite. Tiny ones may become zero where they are added; a factor or divisor must
  // remain a normal number.
  bool fits_half(std::size_t i, const graph::Tensor& tensor) const {
    constexpr float kLargest = 65504, kSmallestNormal = 0x1p-14f;
    const bool adds = node(i).op_type == "Add" || node(i).op_type == "Sub";
    for (std::size_t k = 0; k < static_cast<std::size_t>(tensor.count()); ++k) {
      const float size = std::abs(tensor.data.at<float>(k));
      if (!(size <= kLargest && (adds || size == 0 || size >= kSmallestNormal))) return false;
    }
    return true;
  }

  Result<void> join_island(std::size_t i) {
    for (std::size_t k = 0; k < node(i).inputs.size(); ++k) {
      const graph::Tensor* tensor = node(i).inputs[k].empty() ? nullptr : scope_.constant(node(i).inputs[k]);
      if (tensor && tensor->type() == graph::ElementType::float32)
        TRY(store(i, static_cast<int>(k), *scheme(i).data_in, plain_view(*tensor)));
      if (!tensor && !node(i).inputs[k].empty() && scope_.is_float(node(i), k))
        TRY(take(i, static_cast<int>(k)));
    }
    compute_in_half(i);
    NodeNote& note = notes_.nodes[i];
    note.outcome = Outcome::quantized;
    note.reason.clear();
    return {};
  }

  // --- values ---

  Result<void> take(std::size_t i, int input) {
    if (scheme(i).compute == "float16" &&
        halves_.count(node(i).inputs[static_cast<std::size_t>(input)]) != 0) {
      noted_ = true;  // it is in float16 already
      return {};
    }
    Spec spec = *scheme(i).data_in;
    spec.use = TRY(use_on_value(scope_, node(i), input, spec));
    ValueNote& note = note_of(node(i).inputs[static_cast<std::size_t>(input)]);
    const int id = cluster(note.value, spec);
    noted_ = true;
    if (note.made == id) return {};  // already quantized in this format by its producer
    auto group = std::ranges::find(note.taken, id, &ValueNote::Taken::cluster);
    if (group == note.taken.end()) group = note.taken.insert(note.taken.end(), {id, {}});
    group->places.push_back({static_cast<int>(i), input});
    return {};
  }

  Result<void> make(std::size_t i) {
    if (node(i).outputs[0].empty()) return {};  // an omitted output
    Spec spec = *scheme(i).data_out;
    spec.use = TRY(use_on_value(scope_, node(i), -1, spec));
    ValueNote& note = note_of(node(i).outputs[0]);
    note.made = cluster(note.value, spec);
    noted_ = true;
    return {};
  }

  // Quantizes graph inputs and outputs, with blocks or channels along the last axis.
  void quantize_ports(const Scheme& io) {
    const auto add = [&](const graph::ValueInfo& port, const std::optional<Spec>& spec, bool given) {
      if (!spec || !is_direct_data(*spec) || !has_floats(port)) return;
      if (given != (scope_.index.producer(port.name.str()) < 0))
        return;  // an input that is directly an output
      ValueNote& note = note_of(port.name.str());
      note.made = cluster(note.value, *spec);
    };
    for (const graph::ValueInfo& one : scope_.graph.inputs) add(one, io.data_in, true);
    for (const graph::ValueInfo& one : scope_.graph.outputs) add(one, io.data_out, false);
  }

  ValueNote& note_of(const std::string& value) {
    const auto [found, is_new] = by_value_.emplace(value, notes_.values.size());
    if (is_new) notes_.values.push_back({value});
    return notes_.values[found->second];
  }

  // One cluster per value and format.
  int cluster(const std::string& value, const Spec& spec) {
    const auto [found, is_new] = clusters_.emplace(std::pair(value, formats::to_string(spec.use)),
                                                   static_cast<int>(notes_.clusters.size()));
    if (is_new) {
      notes_.clusters.push_back({spec, {value}});
      notes_.clusters.back().spec.source = Spec::Source::runtime;
    }
    return found->second;
  }

  // --- constants ---

  Result<void> store_weight(std::size_t i, int input) {
    const graph::Tensor& tensor = constant(i, input);
    const Spec& spec = *scheme(i).weight;
    const WeightView view = weight_view(scope_, node(i), parts_[i].traits->weight(input), tensor, spec);
    ChosenRounding rounding = rounding_of(parts_[i], scheme(i), node(i), input, tensor.dims);
    if (rounding.axis >= 0 && view.channels == 0) rounding.axis = 0;
    return store(i, input, spec, view, rounding);
  }

  Result<void> store_data(std::size_t i, int input) {
    const Spec& spec = *scheme(i).data_in;
    return store(i, input, spec, data_view(scope_, node(i), input, constant(i, input), spec));
  }

  Result<void> store_plain(std::size_t i, int input, const Spec& spec) {
    const auto at = static_cast<std::size_t>(input);
    if (input < 0 || at >= node(i).inputs.size() || node(i).inputs[at].empty()) return {};
    const graph::Tensor* tensor = scope_.constant(node(i).inputs[at]);
    if (!tensor || tensor->type() != graph::ElementType::float32) return {};
    return store(i, input, spec, plain_view(*tensor));
  }

  Result<void> store(std::size_t i, int input, const Spec& spec, const WeightView& view,
                     const ChosenRounding& rounding = {}) {
    const std::string& name = node(i).inputs[static_cast<std::size_t>(input)];
    GroupedSpec grouped = TRY(quantizing::grouped(spec, view, constant(i, input), name));
    ConstantNote note{.name = name, .tensor = &constant(i, input), .spec = std::move(grouped.spec)};
    note.spec.source = Spec::Source::values;
    note.grouped = std::move(grouped.dims);
    note.places = {{static_cast<int>(i), input}};
    note.compute = scheme(i).compute.value_or("");
    // ONNX Runtime (1.31) fuses operators between 8-bit float Q/DQ pairs into integer operators, and then
    // rejects them.
    note.apart = scheme(i).data_in->is_static() && !scheme(i).data_in->is_integer();
    note.rounding = rounding.by;
    note.outputs_axis = rounding.axis;
    constants_.add(std::move(note));
    noted_ = true;
    return {};
  }

  const graph::Tensor& constant(std::size_t i, int input) const {
    return *scope_.constant(node(i).inputs[static_cast<std::size_t>(input)]);
  }

  const Scope& scope_;
  const std::vector<Part>& parts_;
  const Target& target_;
  const std::function<Asked(std::size_t)>& asked_;
  ConstantNotes& constants_;
  GraphNotes& notes_;
  std::unordered_set<std::string> halves_;       // values in float16, of which islands are made
  bool noted_ = false;                           // the current node has a note
  std::map<std::string, std::size_t> by_value_;  // indices into notes_.values
  std::map<std::pair<std::string, std::string>, int> clusters_;  // by value and format
};

}  // namespace

bool is_direct_data(const Spec& spec) { return !spec.is_static() && is_direct_weight(spec); }

bool is_direct_weight(const Spec& spec) {
  return !spec.is_float() && !(spec.is_integer() && spec.has_own_type());
}

bool has_floats(const graph::ValueInfo& value) {
  const auto* tensor = value.type ? value.type->tensor() : nullptr;
  return tensor && tensor->element_type() == graph::ElementType::float32;
}

Result<void> annotate_direct(const Scope& scope, const std::vector<Part>& parts, const Target& target,
                             const std::function<Asked(std::size_t)>& asked, const Scheme* io,
                             ConstantNotes& constants, GraphNotes& notes) {
  return DirectAnnotator(scope, parts, target, asked, constants, notes).run(io);
}

}  // namespace anybit::quantizing
