#include "quantize/quark.hpp"

#include <map>

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "graph/verify.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "quantize/match.hpp"
#include "quantize/roles.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;
using Role = ops::Traits::Role;

constexpr std::int64_t kUsualAxis = 1;

// A value that passes through an operator.
struct Passing {
  std::string value;
  Spec spec;
  std::int64_t axis = kUsualAxis;
};

// Finds the values, in the order of the nodes.
class Collector {
 public:
  Collector(const Scope& scope, std::vector<Part> parts, GraphNotes& notes)
      : scope_(scope), parts_(std::move(parts)), notes_(notes) {}

  std::vector<Passing> run() && {
    for (std::size_t i = 0; i < parts_.size(); ++i) look_at(i);
    for (const Node& node : scope_.graph.nodes) align(node);
    return std::move(passing_);
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }

  void look_at(std::size_t i) {
    const Part& part = parts_[i];
    if (!part.traits || part.held || !scope_.makes_float(node(i))) return;
    const Role role = part.traits->role_in(node(i));
    if (role == Role::none) return;
    const std::size_t before = passing_.size();
    if (role == Role::move) {
      if (by_value_.count(graph::input(node(i), 0)) != 0) add_outputs(i);
    } else {
      add_inputs(i);
      add_outputs(i);
    }
    const bool any = passing_.size() > before || takes_passing(i);
    if (any && !notes_.nodes[i].scheme.data_in->is_float()) notes_.nodes[i].outcome = Outcome::quantized;
    if (any && notes_.nodes[i].scheme.data_in->is_float()) notes_.nodes[i].outcome = Outcome::weights_only;
    if (any) notes_.nodes[i].reason.clear();
  }

  bool takes_passing(std::size_t i) const {
    return std::ranges::any_of(node(i).inputs,
                               [&](const std::string& one) { return by_value_.count(one) != 0; });
  }

  void add_inputs(std::size_t i) {
    const Part& part = parts_[i];
    const Scheme& scheme = notes_.nodes[i].scheme;
    for (const int input : part.data) add_input(i, input, *scheme.data_in);
    // A dictionary of Quark has weights in a variant that can be stored, but here they stay float32.
    const bool same = scheme.data_in->use.format == scheme.weight->use.format;
    const Spec& weight = same ? *scheme.data_in : *scheme.weight;
    for (const int input : part.constants) add_input(i, input, weight);
    for (const int input : part.weights) add_input(i, input, weight);
    const int bias = part.traits->normalizes ? 2 : part.bias;
    if (bias >= 0) add_input(i, bias, scheme.bias.value_or(weight));
    if (part.traits->normalizes) add_input(i, 1, weight);
  }

  void add_input(std::size_t i, int input, const Spec& spec) {
    const auto at = static_cast<std::size_t>(input);
    if (at < node(i).inputs.size() && scope_.is_float(node(i), at)) add(node(i).inputs[at], spec);
  }

  void add_outputs(std::size_t i) {
    const ops::NodeFacts* facts = scope_.facts().find(node(i));
    for (std::size_t k = 0; k < node(i).outputs.size(); ++k) {
      const bool is_float =
          facts && k < facts->outputs.size() && facts->outputs[k].type == graph::ElementType::float32;
      if (is_float || k == 0) add(node(i).outputs[k], *notes_.nodes[i].scheme.data_in);
    }
  }

  // A single value would stay as it is.
  void add(const std::string& value, const Spec& spec) {
    if (value.empty() || spec.is_float() || scope_.is_number(value)) return;
    if (!by_value_.emplace(value, passing_.size()).second) return;
    const graph::Tensor* constant = scope_.constant(value);
    const bool is_vector = constant && constant->dims.size() <= 1;
    passing_.push_back({value, spec, is_vector ? 0 : spec.use.grouping.axis.value_or(kUsualAxis)});
  }

  // --- blocks lie along the reduction axis of MatMul and Gemm, and along the axis of Softmax ---

  void align(const Node& node) {
    if (graph::is(node, "MatMul")) {
      const std::int64_t axis = from_end(node, 0, 1);
      set_axis(graph::input(node, 0), axis);
      set_axis(node.outputs[0], axis);
      set_axis(graph::input(node, 1), from_end(node, 1, 2));
    } else if (graph::is(node, "Gemm")) {
      set_axis(graph::input(node, 0), graph::integer(node, "transA", 0) != 0 ? 0 : 1);
      set_axis(graph::input(node, 1), graph::integer(node, "transB", 0) != 0 ? 1 : 0);
    } else if (graph::is(node, "Softmax")) {
      set_axis(graph::input(node, 0), graph::integer(node, "axis", -1));
    }
  }

  // As Quark writes it: from the front for constants, from the end for activations.
  std::int64_t from_end(const Node& node, std::size_t input, std::int64_t back) const {
    const graph::Tensor* constant = scope_.constant(graph::input(node, input));
    const std::int64_t rank = constant ? std::ssize(constant->dims) : 0;
    return rank == 1 ? 0 : rank - back;
  }

  void set_axis(const std::string& value, std::int64_t axis) {
    if (const auto found = by_value_.find(value); found != by_value_.end())
      passing_[found->second].axis = axis;
  }

  const Scope& scope_;
  const std::vector<Part> parts_;
  GraphNotes& notes_;
  std::vector<Passing> passing_;
  std::map<std::string, std::size_t> by_value_;
};

// Inserts an operator behind every passing value.
class Inserter {
 public:
  Inserter(Graph& graph, std::string_view domain)
      : graph_(graph), domain_(domain), before_edits_(graph), index_(before_edits_), names_(graph) {}

  Result<void> run(const std::vector<Passing>& all) {
    for (const Passing& one : all) TRY(insert(one));
    std::vector<Node> nodes = std::move(behind_[-1]);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      nodes.push_back(std::move(graph_.nodes[i]));
      std::ranges::move(behind_[static_cast<int>(i)], std::back_inserter(nodes));
    }
    graph_.nodes = std::move(nodes);
    return {};
  }

 private:
  Result<void> insert(const Passing& one) {
    auto made = ops::make_fix_neuron(one.spec.use, one.axis, domain_);
    if (!made.ok()) return std::move(made).error().within(fmt::format("value '{}'", one.value));
    Node node = std::move(made).value();
    node.name = graph::Text(names_.fresh(fmt::format("{}_{}", one.value, node.op_type.str())));
    const int producer = index_.producer(one.value);
    const bool keeps_name = producer >= 0 && (index_.is_output(one.value) || is_captured(one.value));
    const std::string other =
        names_.fresh(fmt::format("{}_{}_{}", one.value, node.op_type.str(), keeps_name ? "Input" : "Output"));
    node.inputs = {keeps_name ? other : one.value};
    node.outputs = {keeps_name ? one.value : other};
    if (keeps_name) {
      std::ranges::replace(graph_.nodes[static_cast<std::size_t>(producer)].outputs, one.value, other);
    } else {
      redirect(one.value, other);
    }
    behind_[producer].push_back(std::move(node));
    return {};
  }

  // Used in a graph inside a node.
  bool is_captured(const std::string& value) const {
    return std::ranges::any_of(index_.uses(value),
                               [](const graph::Index::Use& use) { return use.input < 0; });
  }

  void redirect(const std::string& value, const std::string& other) {
    for (const graph::Index::Use& use : index_.uses(value)) {
      if (use.node >= 0 && use.input >= 0)
        graph_.nodes[static_cast<std::size_t>(use.node)].inputs[static_cast<std::size_t>(use.input)] = other;
    }
  }

  Graph& graph_;
  const std::string domain_;
  const Graph before_edits_;  // shares tensor data
  const graph::Index index_;
  graph::Names names_;
  std::map<int, std::vector<Node>> behind_;  // by the index of the node before; -1: at the start
};

void import_domain(graph::Model& model, std::string_view domain) {
  const auto is_it = [&](const graph::OpsetImport& one) { return one.domain == domain; };
  if (std::ranges::none_of(model.opsets, is_it)) model.opsets.push_back({graph::Text(domain), 1, {}});
}

void report_for_quark(const GraphNotes& notes, const Graph& graph, QuantizationReport& report) {
  for (std::size_t i = 0; i < notes.nodes.size(); ++i) {
    const NodeNote& note = notes.nodes[i];
    if (note.op == "Constant") continue;
    const bool left = note.outcome == Outcome::left;
    const Spec& spec = note.outcome == Outcome::weights_only ? *note.scheme.weight : *note.scheme.data_in;
    report.nodes.push_back({notes.place, note.name, note.op, std::string(name_of(note.outcome)),
                            left ? std::string() : to_string(spec), note.reason, graph.nodes[i].inputs,
                            graph.nodes[i].outputs});
  }
}

}  // namespace

Result<void> quantize_for_quark(graph::Model& model, const Recipe& recipe, std::string_view domain,
                                const Limits& limits, QuantizationReport& report) {
  const Facts facts = TRY(Facts::of(model, limits));
  const Scope scope(*model.graph, facts, nullptr);
  Matcher matcher = TRY(Matcher::make(recipe));
  GraphNotes notes;
  std::vector<Part> parts = parts_of(scope, matcher, notes);
  const std::vector<Passing> passing = Collector(scope, std::move(parts), notes).run();
  std::vector<std::string> unused = TRY(matcher.unused());
  report.remarks.insert(report.remarks.end(), unused.begin(), unused.end());
  if (passing.empty())
    return error_at(Code::invalid_argument, {}, "the recipe finds nothing to quantize in this model");
  report_for_quark(notes, *model.graph, report);
  TRY(Inserter(*model.graph, domain).run(passing));
  import_domain(model, domain);
  return graph::verify(model, limits);
}

}  // namespace anybit::quantizing
