#include "quantize/roles.hpp"

#include "base/error.hpp"
#include "passes/recognise.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;
using ops::Traits;

constexpr const char* kByRecipe = "the recipe leaves it in float";

// The value that a value is an elementwise function of; itself if there is none.
class Origins {
 public:
  const std::string& of(const std::string& value) const {
    const auto found = known_.find(value);
    return found == known_.end() ? value : found->second;
  }
  void set(const std::string& value, const std::string& origin) { known_[value] = origin; }

 private:
  std::unordered_map<std::string, std::string> known_;
};

class RoleReader {
 public:
  RoleReader(const Scope& scope, const Origins& origins, const Node& node, const ops::Descriptor& descriptor)
      : scope_(scope), origins_(origins), node_(node), traits_(descriptor.traits), descriptor_(descriptor) {}

  Part read(const Scheme& scheme, std::string& reason) {
    Part part;
    part.traits = &traits_;
    part.heavy = descriptor_.macs != nullptr;
    sort_inputs(part);
    part.kind = kind(part, scheme, reason);
    return part;
  }

 private:
  bool given(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }

  void sort_inputs(Part& part) const {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const int input = static_cast<int>(i);
      if (!given(i) || !scope_.is_float(node_, i)) continue;
      const graph::Tensor* constant = scope_.constant(node_.inputs[i]);
      if (constant && traits_.weight(input)) {
        part.weights.push_back(input);
      } else if (traits_.is_data(input)) {
        (constant ? part.constants : part.data).push_back(input);
      } else if (constant && input == traits_.bias) {
        part.bias = input;
      }
    }
  }

  // Returns true if the output is an elementwise function of a single value: other inputs are scalars or
  // functions of that value, as in x · sigmoid(x).
  bool of_one_value(const Part& part) const {
    if (!traits_.by_element || part.data.empty()) return false;
    const std::string& origin = origins_.of(node_.inputs[static_cast<std::size_t>(part.data[0])]);
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!given(i) || scope_.is_number(node_.inputs[i])) continue;
      if (std::ranges::count(part.data, static_cast<int>(i)) == 0) return false;
      if (origins_.of(node_.inputs[i]) != origin) return false;
    }
    return true;
  }

  Part::Kind kind(const Part& part, const Scheme& scheme, std::string& reason) const {
    const Traits::Role role = traits_.role_in(node_);
    if (!descriptor_.quantized.empty()) return reason = "it is an integer operator already", Part::Kind::left;
    if (role == Traits::Role::none)
      return reason = "anybit does not quantize this operator", Part::Kind::left;
    if (!scope_.makes_float(node_)) return reason = scope_.why_not_float(node_), Part::Kind::left;
    // An embedding gathers rows of a constant table: only the table is quantized.
    const bool embeds = role == Traits::Role::move && part.data.empty() && !part.weights.empty();
    if (role == Traits::Role::move && !embeds) return Part::Kind::move;
    if (of_one_value(part)) return Part::Kind::element;
    if (scheme.data_in->is_float() && scheme.weight->is_float()) return reason = kByRecipe, Part::Kind::left;
    if (const std::string empty = empty_constant(part); !empty.empty())
      return reason = fmt::format("its constant '{}' has no elements", empty), Part::Kind::left;
    return Part::Kind::compute;
  }

  // An empty constant has neither range nor scale.
  std::string empty_constant(const Part& part) const {
    std::vector<int> inputs = part.weights;
    inputs.insert(inputs.end(), part.constants.begin(), part.constants.end());
    if (part.bias >= 0) inputs.push_back(part.bias);
    for (const int input : inputs) {
      const std::string& name = node_.inputs[static_cast<std::size_t>(input)];
      if (scope_.constant(name)->count() == 0) return name;
    }
    return {};
  }

  const Scope& scope_;
  const Origins& origins_;
  const Node& node_;
  const Traits& traits_;
  const ops::Descriptor& descriptor_;
};

// The rank of a node's weight, for types like conv2d; 0 if unknown.
std::size_t weight_rank(const Scope& scope, const Node& node, const Traits& traits) {
  for (const Traits::Weight& one : traits.weights) {
    const graph::Tensor* weight = scope.constant(graph::input(node, static_cast<std::size_t>(one.input)));
    if (weight) return weight->dims.size();
  }
  return 0;
}

bool is_delicate(std::string_view kind) { return kind.ends_with("_norm") || kind == "softmax"; }

// The composite operators that nodes belong to.
std::unordered_map<int, std::string> groups_of(const graph::Graph& graph) {
  std::unordered_map<int, std::string> groups;
  for (const passes::Group& group : passes::recognise(graph)) {
    for (const int node : group.nodes) groups.emplace(node, group.kind);
  }
  return groups;
}

}  // namespace

std::vector<Part> parts_of(const Scope& scope, Matcher& matcher, GraphNotes& notes) {
  std::vector<Part> parts;
  parts.reserve(scope.graph.nodes.size());
  notes.nodes.reserve(scope.graph.nodes.size());
  Origins origins;
  const std::unordered_map<int, std::string> groups = groups_of(scope.graph);
  for (std::size_t i = 0; i < scope.graph.nodes.size(); ++i) {
    const Node& node = scope.graph.nodes[i];
    NodeNote& note = notes.nodes.emplace_back();
    note.name = node.name.str();
    note.op = node.op_type.str();
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    const std::size_t rank = descriptor ? weight_rank(scope, node, descriptor->traits) : 0;
    Subject subject = subject_of(node, rank > 0, rank);
    subject.facts = scope.facts().find(node);
    const bool by_name = matcher.named(subject);
    const auto group = groups.find(static_cast<int>(i));
    if (group != groups.end()) subject.types.push_back(group->second);
    note.scheme = matcher.scheme(subject);
    if (const Choice* chosen = matcher.choice(choice_key(notes.place, node.outputs))) {
      note.scheme.set(chosen->scheme);
      note.scheme.compute.reset();
      note.choice = chosen->reason;
    }
    if (!descriptor) {
      note.reason = "not an operator that anybit knows";
      parts.emplace_back();
      continue;
    }
    Part part = RoleReader(scope, origins, node, *descriptor).read(note.scheme, note.reason);
    const bool small_weights = !part.weights.empty() && !note.scheme.weight->is_float();
    part.held = !small_weights && matcher.holds_in_float(subject);
    if (part.held && part.kind != Part::Kind::left) {
      part.kind = Part::Kind::left;
      note.reason = kByRecipe;
    }
    if (part.kind == Part::Kind::element)
      origins.set(node.outputs[0], origins.of(node.inputs[static_cast<std::size_t>(part.data[0])]));
    const bool asked = by_name || matcher.by_type(note.op);
    if (group != groups.end() && is_delicate(group->second) && !asked && !matcher.by_type(group->second)) {
      part.kind = Part::Kind::left;
      note.reason = fmt::format("part of a {}, which is numerically sensitive", group->second);
    } else if (part.kind == Part::Kind::compute && descriptor->traits.sensitive && !asked) {
      part.kind = Part::Kind::left;
      note.reason = "numerically sensitive operator; a rule for its name or type quantizes it";
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

ChosenRounding rounding_of(const Part& part, const Scheme& scheme, const Node& node, int input,
                           std::span<const std::int64_t> dims) {
  const Traits::Weight* weight = part.traits->weight(input);
  if (!scheme.refine || !part.heavy || !weight || !weight->channel_axis) return {};
  ChosenRounding chosen;
  const Descriptor* ranges = nullptr;
  bool ranges_optional = false;
  for (const Refinement& one : *scheme.refine) {
    const Descriptor* row = find_refinement(one.name);
    if (row->phase == Descriptor::Phase::ranges) {
      ranges = row;
      ranges_optional = one.optional;
    }
    if (row->phase != Descriptor::Phase::rounding) continue;
    auto needs = needs_of(*row, node, input, dims);
    const bool uses_data = !row->needs.empty();
    if (uses_data && needs.empty()) continue;  // not a layer that it knows
    Rounder& by = chosen.by;
    if (!by) {
      by = {row, one.parameters, one.optional, std::move(needs)};
    } else if (uses_data && by.row->needs.empty()) {  // the better one, if there are data
      by = {row, one.parameters, one.optional, std::move(needs), {}, by.row, by.parameters};
    } else if (!uses_data && !by.row->needs.empty() && !by.otherwise) {
      by.otherwise = row;
      by.otherwise_parameters = one.parameters;
    }
  }
  chosen.by.ranges = ranges;
  chosen.by.ranges_optional = ranges_optional;
  if (chosen.by || ranges) chosen.axis = weight->channel_axis(node, dims.size());
  return chosen;
}

}  // namespace anybit::quantizing
