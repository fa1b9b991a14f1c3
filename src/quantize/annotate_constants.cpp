#include "quantize/annotate_constants.hpp"

#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "base/try.hpp"
#include "lower/dynamic.hpp"
#include "quantize/groups.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;
using lower::Place;

class ConstantAnnotator {
 public:
  ConstantAnnotator(const Scope& scope, const std::vector<Part>& parts, const std::vector<Scheme>& schemes,
                    const std::vector<bool>& is_static, const Target& target, Matcher& matcher,
                    ConstantNotes& constants, GraphNotes& notes)
      : scope_(scope),
        parts_(parts),
        schemes_(schemes),
        static_(is_static),
        target_(target),
        matcher_(matcher),
        constants_(constants),
        notes_(notes) {
    for (const ValueNote& one : notes.values) {
      by_value_.emplace(one.value, &one);
      for (const ValueNote::Taken& taken : one.taken) {
        for (const Place& place : taken.places)
          taken_.emplace(std::pair(place.node, place.input), taken.cluster);
      }
    }
  }

  Result<void> run() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].kind == Part::Kind::compute) TRY(look_at(i));
    }
    return {};
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  const Scheme& scheme(std::size_t i) const { return schemes_[i]; }

  Result<void> look_at(std::size_t i) {
    std::vector<std::size_t> added;
    for (const int input : parts_[i].weights) {
      if (!scheme(i).weight->is_float()) added.push_back(TRY(add_constant(i, input, weight_spec(i, input))));
    }
    if (parts_[i].dynamic)
      notes_.dynamic.push_back(
          {static_cast<int>(i), scheme(i).data_in->symmetric(), takes_signed_data(i), added});
    if (!static_[i]) return {};
    for (const int input : parts_[i].constants) {
      Spec spec = *scheme(i).data_in;
      spec.set_granularity(Granularity::tensor);
      TRY(add_constant(i, input, spec));
    }
    if (!added.empty()) add_bias(i, added.front());
    return {};
  }

  // ONNX Runtime multiplies int8 activations by int8 weights only; uint8 by either.
  bool takes_signed_data(std::size_t i) const {
    return scheme(i).data_in->element() == graph::ElementType::int8 &&
           scheme(i).weight->element() == graph::ElementType::int8;
  }

  // Integer operators support neither blocked nor 2-bit weights, but ONNX Runtime (1.31) fuses without
  // checking.
  bool stands_apart(std::size_t i, const Spec& spec) const {
    const int bits = graph::integer_range(spec.element()).bits;
    return static_[i] && parts_[i].heavy &&
           (bits == 2 || (bits == 8 && spec.granularity() == Granularity::block));
  }

  // Integer GEMM supports per-column scales of a single matrix as the right operand, and per-tensor scales
  // otherwise.
  Spec weight_spec(std::size_t i, int input) {
    Spec spec = *scheme(i).weight;
    const std::size_t rank = scope_.constant(node(i).inputs[static_cast<std::size_t>(input)])->dims.size();
    const auto has_8_bits = [](const Spec& one) { return graph::integer_range(one.element()).bits == 8; };
    const std::string& op = node(i).op_type.str();
    if (!static_[i] || (op != "MatMul" && op != "Gemm") || (input == 1 && rank <= 2) ||
        spec.granularity() != Granularity::channel || !has_8_bits(spec) || !has_8_bits(*scheme(i).data_in))
      return spec;
    spec.set_granularity(Granularity::tensor);
    notes_.nodes[i].reason = fmt::format("integer GEMM supports only per-tensor scales for weights {}",
                                         input == 0 ? "that are the left operand" : "of several matrices");
    notes_.nodes[i].less = true;
    return spec;
  }

  // Integers have their scales along the axis that the operator requires. If a rule names that axis, it is
  // dropped; any other is an error.
  static Result<void> check_axis(Spec& spec, const WeightView& view, const graph::Tensor& tensor,
                                 const std::string& name) {
    std::optional<std::int64_t>& axis = spec.use.grouping.axis;
    if (!axis || !spec.is_integer()) return {};
    const Granularity granularity = spec.granularity();
    const std::int64_t own = granularity == Granularity::channel ? view.channels
                             : granularity == Granularity::block ? view.blocks
                                                                 : -1;
    const auto rank = std::ssize(tensor.dims);
    if (granularity == Granularity::tensor || (own >= 0 && (*axis < 0 ? *axis + rank : *axis) == own)) {
      axis.reset();
      return {};
    }
    return error_at(Code::unsupported, fmt::format("tensor '{}'", shown(name)),
                    fmt::format("scales along axis {}", *axis),
                    own < 0 ? "one scale for the tensor" : fmt::format("its own: axis {}", own));
  }

  // Checks that there are as many given scales as channels.
  static Result<void> check_given(const ConstantNote& note) {
    const auto scales = std::ssize(note.spec.given.scales);
    const std::optional<std::int64_t> axis = note.spec.use.grouping.axis;
    const std::int64_t groups = axis ? note.grouped[static_cast<std::size_t>(*axis)] : 1;
    if (scales <= 1 || scales == groups) return {};
    return error_at(Code::invalid_argument, fmt::format("tensor '{}'", shown(note.name)),
                    fmt::format("{} scales are given", scales),
                    groups == 1 ? "one" : fmt::format("one, or {}: one for each channel", groups));
  }

  Result<std::size_t> add_constant(std::size_t i, int input, const Spec& asked) {
    const std::string& name = node(i).inputs[static_cast<std::size_t>(input)];
    const graph::Tensor& tensor = *scope_.constant(name);
    const ops::Traits::Weight* weight = parts_[i].traits->weight(input);
    Spec spec = TRY(matcher_.tensor(name, asked));
    const WeightView view = weight_view(scope_, node(i), weight, tensor, spec);
    TRY(check_axis(spec, view, tensor, name));
    GroupedSpec grouped = TRY(quantizing::grouped(spec, view, tensor, name));
    ConstantNote note{.name = name, .tensor = &tensor, .spec = std::move(grouped.spec)};
    if (!spec.is_given()) note.spec.source = Spec::Source::values;
    note.grouped = std::move(grouped.dims);
    note.places = {{static_cast<int>(i), input}};
    // Runtimes do not support zero points per gate row.
    if (parts_[i].dynamic)
      turn(note, lower::dynamic_rows(node(i), tensor,
                                     spec.symmetric() && note.spec.granularity() == Granularity::channel));
    if (!note.turned) {
      ChosenRounding chosen = rounding_of(parts_[i], scheme(i), node(i), input, tensor.dims);
      note.rounding = std::move(chosen.by);
      note.outputs_axis = chosen.axis;
    }
    TRY(check_given(note));
    note.order = order_of(i, input, note.spec, tensor);
    note.bounded = note.order && spec.symmetric() && !spec.is_given() && reduces_range(scheme(i), target_);
    note.compute = compute_of(i, note.spec);
    note.apart = stands_apart(i, note.spec);
    return constants_.add(std::move(note));
  }

  // Switches to one scale per row of this shape, unless it is empty.
  static void turn(ConstantNote& note, std::vector<std::int64_t> rows) {
    if (rows.empty()) return;
    note.turned = true;
    note.spec.set_granularity(Granularity::channel);
    note.spec.use.grouping.axis = 0;
    note.spec.use.rank = std::ssize(rows);
    note.grouped = std::move(rows);
  }

  // The reduction order if ONNX Runtime multiplies the weight, as int8, by uint8 activations: its optimizer
  // converts int8 activations to uint8.
  std::optional<ReductionOrder> order_of(std::size_t i, int input, const Spec& spec,
                                         const graph::Tensor& tensor) const {
    const bool dynamic = parts_[i].dynamic;
    if (!parts_[i].heavy || spec.element() != graph::ElementType::int8 ||
        spec.granularity() == Granularity::block || !(static_[i] || dynamic))
      return std::nullopt;
    if (static_[i] && graph::integer_range(scheme(i).data_in->element()).bits != 8) return std::nullopt;
    return reduction_order(node(i), input, tensor.dims, dynamic);
  }

  // The format that the operator rounds its activations to; supported for blocked weights only.
  std::string compute_of(std::size_t i, const Spec& spec) {
    std::string asked = scheme(i).compute.value_or("float32");
    if (asked == "float32") return {};
    if (asked == "int8" && spec.granularity() == Granularity::block && !static_[i]) return asked;
    notes_.nodes[i].reason = fmt::format("compute: {} does not apply to weights of {}{}", asked,
                                         to_string(spec), static_[i] ? " with integer activations" : "");
    notes_.nodes[i].less = true;
    return {};
  }

  void add_bias(std::size_t i, std::size_t weight) {
    if (parts_[i].bias < 0 || parts_[i].data.empty()) return;
    if (scheme(i).bias && scheme(i).bias->is_float()) return;
    const Place place{static_cast<int>(i), parts_[i].bias};
    const int cluster = cluster_at({place.node, parts_[i].data.front()});
    const std::string& name = node(i).inputs[static_cast<std::size_t>(place.input)];
    const graph::Tensor* tensor = scope_.constant(name);
    const bool left = parts_[i].weights.front() == 0;  // its channels are rows; a bias broadcasts over rows
    if (cluster < 0 || !notes_.clusters[static_cast<std::size_t>(cluster)].spec.is_integer()) return;
    if (!has_scales(*tensor, notes_.constants[weight], !left)) return;
    notes_.biases.push_back({name, tensor, place, cluster, weight});
  }

  // Each bias element needs the scale of its channel. A bias that broadcasts over channels (as a column of
  // Gemm), or whose weights have several scales per channel, stays in float.
  static bool has_scales(const graph::Tensor& bias, const ConstantNote& weight, bool same_channels) {
    if (weight.spec.granularity() != Granularity::channel)
      return weight.spec.granularity() == Granularity::tensor;
    if (!same_channels) return false;
    const std::int64_t channels = weight.grouped[static_cast<std::size_t>(*weight.spec.use.grouping.axis)];
    return !bias.dims.empty() && bias.count() == channels && bias.dims.back() == channels;
  }

  // The cluster that quantizes an input of a node; -1: none.
  int cluster_at(const Place& place) const {
    const auto found = by_value_.find(
        node(static_cast<std::size_t>(place.node)).inputs[static_cast<std::size_t>(place.input)]);
    if (found == by_value_.end()) return -1;
    const auto taken = taken_.find({place.node, place.input});
    return taken == taken_.end() ? found->second->made : taken->second;
  }

  const Scope& scope_;
  const std::vector<Part>& parts_;
  const std::vector<Scheme>& schemes_;
  const std::vector<bool>& static_;
  const Target& target_;
  Matcher& matcher_;
  ConstantNotes& constants_;
  GraphNotes& notes_;
  std::unordered_map<std::string, const ValueNote*> by_value_;
  std::map<std::pair<int, int>, int> taken_;  // inputs with another cluster than the producer's
};

}  // namespace

Result<void> note_constants(const Scope& scope, const std::vector<Part>& parts,
                            const std::vector<Scheme>& schemes, const std::vector<bool>& is_static,
                            const Target& target, Matcher& matcher, ConstantNotes& constants,
                            GraphNotes& notes) {
  return ConstantAnnotator(scope, parts, schemes, is_static, target, matcher, constants, notes).run();
}

}  // namespace anybit::quantizing
