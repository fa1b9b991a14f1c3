#include "quantize/annotate_coded.hpp"

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/node.hpp"

namespace anybit::quantizing {
namespace {

using formats::Use;
using graph::Node;
using lower::Place;

bool is_convolution(const Node& node) {
  const std::string& op = node.op_type.str();
  return op == "Conv" || op == "ConvTranspose" || op == "FusedConv";
}

// The axis that a product sums over, where input `input` is not a constant weight: blocks run along it, so
// that one scale serves a run of products.
std::int64_t summed_axis(const Node& node, int input, std::optional<std::size_t> rank) {
  const std::string& op = node.op_type.str();
  if (rank == 1) return -1;
  if (is_convolution(node)) return 1;
  if (op == "Gemm") {
    const bool turned = graph::attribute_or<std::int64_t>(node, input == 0 ? "transA" : "transB", 0) != 0;
    return (input == 0) != turned ? -1 : -2;
  }
  return (op == "MatMul" || op == "FusedMatMul") && input == 1 ? -2 : -1;
}

Result<formats::Granularity> granularity_of(const Use& use) {
  const formats::Descriptor* format = TRY(formats::find(use.format));
  return use.grouping.granularity.value_or(format->granularity);
}

// Rows of a matrix are the output channels where those come first; else columns are.
struct MatrixView {
  std::vector<std::int64_t> dims;
  std::int64_t channels, summed;  // axes
  std::int64_t sums = -1;         // CodedConstantNote::sums_axis
};

MatrixView matrix_of(const std::vector<std::int64_t>& dims, std::int64_t channel_axis, std::int64_t summed) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  if (rank < 2 || channel_axis < 0) return {dims, 0, rank - 1};
  const auto product = [&](std::size_t first) {
    std::int64_t all = 1;
    for (std::size_t i = first; i < dims.size(); ++i) all *= dims[i];
    return all;
  };
  if (channel_axis == 0) return {{dims[0], product(1)}, 0, 1};
  if (channel_axis == rank - 1) return {dims, rank - 1, rank - 2};
  if (summed >= 0) return {dims, channel_axis, summed};
  if (channel_axis == 1) return {{dims[0], product(1)}, 1, 0};  // ConvTranspose
  return {dims, channel_axis, rank - 1};
}

class CodedAnnotator {
 public:
  CodedAnnotator(const Scope& scope, const std::vector<Part>& parts,
                 const std::function<bool(std::size_t)>& asked, GraphNotes& notes)
      : scope_(scope), parts_(parts), asked_(asked), notes_(notes) {}

  Result<void> run() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Result<void> done = look_at(i);
      if (!done.ok()) return std::move(done).error().within(graph::place_of(node(i), i));
    }
    return {};
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  const Scheme& scheme(std::size_t i) const { return notes_.nodes[i].scheme; }

  static bool is_coded(const std::optional<Spec>& spec) { return spec && spec->is_coded(); }

  bool any_coded(const Scheme& scheme) const {
    return is_coded(scheme.data_in) || is_coded(scheme.weight) || is_coded(scheme.bias) ||
           is_coded(scheme.data_out);
  }

  // Rows of a constant table are taken as they are: only the table is coded.
  bool embeds(std::size_t i) const {
    return parts_[i].data.empty() && !parts_[i].weights.empty() && is_coded(scheme(i).weight);
  }

  bool takes_part(std::size_t i) {
    const Part& part = parts_[i];
    NodeNote& note = notes_.nodes[i];
    if (!part.traits || !scope_.makes_float(node(i))) return false;
    const auto role = part.traits->role_in(node(i));
    if (role == ops::Traits::Role::none || (role == ops::Traits::Role::move && !embeds(i))) return false;
    if (part.heavy || asked_(i) || embeds(i)) return true;
    if (note.reason.empty())
      note.reason = "only products are stored in this format, unless a rule names the node or its type";
    return false;
  }

  Result<void> look_at(std::size_t i) {
    if (!any_coded(scheme(i)) || !takes_part(i)) return {};
    const std::size_t values = notes_.coded_values.size(), constants = notes_.coded_constants.size();
    const Part& part = parts_[i];
    if (is_coded(scheme(i).data_in)) {
      for (const int input : part.data) TRY(take(i, input));
      for (const int input : part.constants) TRY(store_data(i, input));
    }
    if (is_coded(scheme(i).weight)) {
      for (const int input : part.weights) TRY(store_weight(i, input));
      if (is_norm(notes_.nodes[i].op)) TRY(store_plain(i, 1, *scheme(i).weight));
    }
    if (is_coded(scheme(i).bias)) {
      const int bias = is_norm(notes_.nodes[i].op) ? 2 : part.bias;
      if (bias >= 0) TRY(store_plain(i, bias, *scheme(i).bias));
    }
    if (is_coded(scheme(i).data_out)) TRY(make(i));
    if (scheme(i).compute == "float16" && part.heavy) notes_.half.push_back(static_cast<int>(i));
    NodeNote& note = notes_.nodes[i];
    if (notes_.coded_values.size() == values && notes_.coded_constants.size() == constants && !shared_) {
      if (note.reason.empty()) note.reason = "it has no constant weights";
      return {};
    }
    shared_ = false;
    note.outcome =
        is_coded(scheme(i).data_in) && !part.data.empty() ? Outcome::quantized : Outcome::weights_only;
    note.reason.clear();
    return {};
  }

  // --- values ---

  // Of an input of node i; that of a convolution has the rank of its weights.
  std::optional<std::size_t> rank_of(std::size_t i, const ops::Value* value) const {
    if (value && value->shape) return value->shape->size();
    const graph::Tensor* weight =
        node(i).inputs.size() > 1 && node(i).op_type.str().find("Conv") != std::string::npos
            ? scope_.constant(node(i).inputs[1])
            : nullptr;
    return weight ? std::optional(weight->dims.size()) : std::nullopt;
  }

  // True for a convolution that sums over places of one channel alone, as a depthwise one does.
  bool sums_one_channel(std::size_t i) const {
    const ops::NodeFacts* facts = scope_.facts().find(node(i));
    if (!is_convolution(node(i)) || !facts || facts->inputs.size() < 2 || !facts->inputs[1]) return false;
    const std::optional<ops::Shape>& weight = facts->inputs[1]->shape;
    if (!weight || weight->size() < 3) return false;
    if (node(i).op_type.str() != "ConvTranspose") return (*weight)[1].is(1);
    return ops::floor_div((*weight)[0], graph::attribute_or<std::int64_t>(node(i), "group", 1)).is(1);
  }

  // The axis of an input's blocks or channels, where the recipe names none.
  Result<std::int64_t> natural_axis(std::size_t i, int input, std::optional<std::size_t> rank) const {
    const formats::Granularity granularity = TRY(granularity_of(*scheme(i).data_in->coded));
    if (granularity == formats::Granularity::block && sums_one_channel(i)) return -1;
    return summed_axis(node(i), input, rank);
  }

  // How a value of this rank goes through the format. The axis counts from the front, so that equal uses read
  // the same; without a rank it can only be the last.
  Result<Use> use_of_value(const Spec& spec, std::int64_t natural_axis,
                           std::optional<std::size_t> rank) const {
    Use use = *spec.coded;
    const formats::Granularity granularity = TRY(granularity_of(use));
    if (granularity == formats::Granularity::element || granularity == formats::Granularity::tensor) {
      use.grouping.axis.reset();
      return check_value_use(std::move(use));
    }
    std::int64_t axis = use.grouping.axis.value_or(natural_axis);
    if (axis == -1) {
      use.grouping.axis = axis;
      return check_value_use(std::move(use));
    }
    if (!rank) return unsupported_use("the rank of its input is not known", "a model with shapes");
    const auto size = static_cast<std::int64_t>(*rank);
    TRY(check_axis(axis, size, "a value"));
    if (axis < 0) axis += size;
    use.grouping.axis = axis == size - 1 ? -1 : axis;
    if (axis != size - 1) use.rank = size;
    return check_value_use(std::move(use));
  }

  static Result<void> check_axis(std::int64_t axis, std::int64_t rank, std::string_view of) {
    if (axis >= -rank && axis < rank) return {};
    return invalid_argument(fmt::format("axis {} of {} of rank {}", axis, of, rank),
                            fmt::format("{} to {}", -rank, rank - 1));
  }

  static Error unsupported_use(std::string message, std::string hint) {
    return error_at(Code::unsupported, {}, std::move(message), std::move(hint));
  }

  // What cannot be done to values that are not known before.
  Result<Use> check_value_use(Use use) const {
    if (use.format == "binary_residual" && use.parameters.count("gammas") == 0) {
      // Activations lie in -1 … 1; steps that halve are the ones that spread evenly over it.
      const auto levels = use.parameters.find("levels");
      const std::int64_t count = levels == use.parameters.end() ? 2 : std::get<std::int64_t>(levels->second);
      std::string gammas;
      double step = 1;
      for (std::int64_t i = 0; i < count; ++i) gammas += fmt::format("{}{}", i ? "," : "", step /= 2);
      use.parameters["gammas"] = gammas;
      use.parameters["clip"] = true;
    }
    return use;
  }

  Result<void> take(std::size_t i, int input) {
    const std::string& value = node(i).inputs[static_cast<std::size_t>(input)];
    const ops::NodeFacts* facts = scope_.facts().find(node(i));
    const auto at = static_cast<std::size_t>(input);
    const ops::Value* known = facts && at < facts->inputs.size() ? facts->inputs[at] : nullptr;
    const std::optional<std::size_t> rank = rank_of(i, known);
    const std::int64_t axis = TRY(natural_axis(i, input, rank));
    const Use use = TRY(use_of_value(*scheme(i).data_in, axis, rank));
    add_value(value, use, false, Place{static_cast<int>(i), input});
    return {};
  }

  Result<void> make(std::size_t i) {
    const ops::NodeFacts* facts = scope_.facts().find(node(i));
    const ops::Value* known = facts && !facts->outputs.empty() ? &facts->outputs[0] : nullptr;
    const Use use = TRY(use_of_value(*scheme(i).data_out, -1, rank_of(i, known)));
    add_value(node(i).outputs[0], use, true, {});
    return {};
  }

  void add_value(const std::string& value, const Use& use, bool made, Place place) {
    for (CodedValueNote& one : notes_.coded_values) {
      if (one.value != value || !(one.use == use)) continue;
      // What has been through the format where it was made is not sent through it again.
      if (!one.made && !made) one.places.push_back(place);
      shared_ = true;
      return;
    }
    notes_.coded_values.push_back({value, use, made, {}});
    if (!made) notes_.coded_values.back().places.push_back(place);
  }

  // --- constants ---

  Result<void> store_weight(std::size_t i, int input) {
    const std::string& name = node(i).inputs[static_cast<std::size_t>(input)];
    const graph::Tensor* tensor = scope_.constant(name);
    const ops::Traits::Weight* weight = parts_[i].traits->weight(input);
    const auto axis_by = [&](ops::ChannelAxis axis) {
      return axis ? axis(node(i), tensor->dims.size()) : -1;
    };
    std::int64_t channels = weight ? axis_by(weight->channel_axis) : -1;
    std::int64_t sums = sums_axis(parts_[i], scheme(i), node(i), input, tensor->dims.size());
    if (channels == 1 && sums_one_channel(i)) {  // a depthwise ConvTranspose: what comes in goes out
      channels = 0;
      sums = std::min<std::int64_t>(sums, 0);
    }
    MatrixView view = matrix_of(tensor->dims, channels, weight ? axis_by(weight->summed_axis) : -1);
    view.sums = sums;
    return store(i, input, *scheme(i).weight, view);
  }

  // A constant where data is expected: in the format of the data, along the axis that data has.
  Result<void> store_data(std::size_t i, int input) {
    const graph::Tensor* tensor = scope_.constant(node(i).inputs[static_cast<std::size_t>(input)]);
    const auto rank = static_cast<std::int64_t>(tensor->dims.size());
    std::int64_t axis = TRY(natural_axis(i, input, tensor->dims.size()));
    if (axis < 0) axis = std::max<std::int64_t>(axis + rank, 0);
    return store(i, input, *scheme(i).data_in, {tensor->dims, axis, axis});
  }

  Result<void> store_plain(std::size_t i, int input, const Spec& spec) {
    const auto at = static_cast<std::size_t>(input);
    if (at >= node(i).inputs.size() || node(i).inputs[at].empty()) return {};
    const graph::Tensor* tensor = scope_.constant(node(i).inputs[at]);
    if (!tensor || tensor->type() != graph::ElementType::float32) return {};
    const std::int64_t last = std::max<std::int64_t>(static_cast<std::int64_t>(tensor->dims.size()) - 1, 0);
    return store(i, input, spec, {tensor->dims, last, last});
  }

  Result<void> store(std::size_t i, int input, const Spec& spec, const MatrixView& view) {
    const std::string& name = node(i).inputs[static_cast<std::size_t>(input)];
    const graph::Tensor* tensor = scope_.constant(name);
    Use use = *spec.coded;
    std::vector<std::int64_t> coded = view.dims;
    const formats::Granularity granularity = TRY(granularity_of(use));
    if (granularity == formats::Granularity::element || granularity == formats::Granularity::tensor) {
      use.grouping.axis.reset();
    } else if (use.grouping.axis) {
      coded = tensor->dims;  // the caller counts the weight's own axes
      TRY(check_axis(*use.grouping.axis, std::ssize(coded), fmt::format("'{}'", name)));
    } else {
      use.grouping.axis = granularity == formats::Granularity::channel ? view.channels : view.summed;
    }
    if (coded.empty()) coded = {1};
    if (use.grouping.axis) use.rank = static_cast<std::int64_t>(coded.size());
    const Place place{static_cast<int>(i), input};
    std::string compute = scheme(i).compute.value_or("");
    for (CodedConstantNote& one : notes_.coded_constants) {
      if (one.tensor != tensor || !(one.use == use) || one.coded != coded || one.compute != compute ||
          !are_compatible_sums(one.sums_axis, view.sums))
        continue;
      one.places.push_back(place);
      one.sums_axis = std::max(one.sums_axis, view.sums);
      shared_ = true;
      return {};
    }
    notes_.coded_constants.push_back(
        {name, tensor, std::move(use), std::move(coded), std::move(compute), {place}, view.sums});
    return {};
  }

  const Scope& scope_;
  const std::vector<Part>& parts_;
  const std::function<bool(std::size_t)>& asked_;
  GraphNotes& notes_;
  bool shared_ = false;  // a note that was there already serves the node
};

}  // namespace

Result<void> annotate_coded(const Scope& scope, const std::vector<Part>& parts,
                            const std::function<bool(std::size_t)>& asked, GraphNotes& notes) {
  return CodedAnnotator(scope, parts, asked, notes).run();
}

}  // namespace anybit::quantizing
