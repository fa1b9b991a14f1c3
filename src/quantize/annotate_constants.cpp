#include "quantize/annotate_constants.hpp"

#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "lower/dynamic.hpp"

namespace anybit::quantizing {
namespace {

using graph::Node;
using lower::Place;

class ConstantAnnotator {
 public:
  ConstantAnnotator(const Scope& scope, const std::vector<Part>& parts, const std::vector<Scheme>& schemes,
                    const std::vector<bool>& is_static, const Target& target, GraphNotes& notes)
      : scope_(scope), parts_(parts), schemes_(schemes), static_(is_static), target_(target), notes_(notes) {
    for (const ValueNote& one : notes.values) {
      by_value_.emplace(one.value, &one);
      for (const ValueNote::Taken& taken : one.taken) {
        for (const Place& place : taken.places)
          taken_.emplace(std::pair(place.node, place.input), taken.cluster);
      }
    }
  }

  void run() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].kind == Part::Kind::compute) look_at(i);
    }
  }

 private:
  const Node& node(std::size_t i) const { return scope_.graph.nodes[i]; }
  const Scheme& scheme(std::size_t i) const { return schemes_[i]; }

  void look_at(std::size_t i) {
    std::vector<std::size_t> added;
    for (const int input : parts_[i].weights) {
      if (!scheme(i).weight->is_float()) added.push_back(add_constant(i, input, weight_spec(i, input)));
    }
    if (parts_[i].dynamic)
      notes_.dynamic.push_back(
          {static_cast<int>(i), scheme(i).data_in->symmetric, takes_signed_data(i), added});
    if (!static_[i]) return;
    for (const int input : parts_[i].constants) {
      Spec spec = *scheme(i).data_in;
      spec.granularity = Granularity::tensor;
      add_constant(i, input, spec);
    }
    if (!added.empty()) add_bias(i, added.front());
  }

  // ONNX Runtime multiplies int8 by int8 alone; uint8 by either.
  bool takes_signed_data(std::size_t i) const {
    return scheme(i).data_in->element() == graph::ElementType::int8 &&
           scheme(i).weight->element() == graph::ElementType::int8;
  }

  // Integer operators have neither weights in blocks nor of 2 bits, and ONNX Runtime (1.31) does not look.
  bool stands_apart(std::size_t i, const Spec& spec) const {
    const int bits = lower::codes_of(spec.element()).bits;
    return static_[i] && parts_[i].heavy &&
           (bits == 2 || (bits == 8 && spec.granularity == Granularity::block));
  }

  // Integer products of matrices take scales of the columns of one matrix on the right, and no others.
  Spec weight_spec(std::size_t i, int input) {
    Spec spec = *scheme(i).weight;
    const std::size_t rank = scope_.constant(node(i).inputs[static_cast<std::size_t>(input)])->dims.size();
    const auto has_8_bits = [](const Spec& one) { return lower::codes_of(one.element()).bits == 8; };
    const std::string& op = node(i).op_type.str();
    if (!static_[i] || (op != "MatMul" && op != "Gemm") || (input == 1 && rank <= 2) ||
        spec.granularity != Granularity::channel || !has_8_bits(spec) || !has_8_bits(*scheme(i).data_in))
      return spec;
    spec.granularity = Granularity::tensor;
    notes_.nodes[i].reason = fmt::format("integer products take one scale for weights {}: they have no more",
                                         input == 0 ? "on the left" : "of several matrices");
    notes_.nodes[i].less = true;
    return spec;
  }

  // The axis of channels, or of blocks; -1: the constant has none.
  std::int64_t axis_of(std::size_t i, int input, std::size_t rank, bool blocks) const {
    const ops::Traits::Weight* weight = parts_[i].traits->weight(input);
    const std::int64_t axis = weight && weight->channel_axis ? weight->channel_axis(node(i), rank) : -1;
    if (axis < 0 || !blocks) return axis;
    // Blocks run along the other side of a matrix: that of the sum.
    if (weight->summed_axis) return weight->summed_axis(node(i), rank);
    return axis == 0 ? 1 : axis - 1;
  }

  // A convolution sums over its kernel as well: blocks run along all of it, else those of a depthwise one
  // would have a scale for each value. The weight as a matrix with a row for each channel; nothing: it is
  // none.
  std::vector<std::int64_t> kernel_rows(std::size_t i, int input, const graph::Tensor& tensor) const {
    const std::size_t rank = tensor.dims.size();
    if (!parts_[i].heavy || rank < 3 || axis_of(i, input, rank, false) != 0) return {};
    const std::int64_t channels = tensor.dims[0], row = channels > 0 ? tensor.count() / channels : 0;
    return row > tensor.dims[1] ? std::vector{channels, row} : std::vector<std::int64_t>();
  }

  // Weights that several nodes share are quantized once, if they are to be in the same way.
  std::size_t add_constant(std::size_t i, int input, Spec spec) {
    const std::string& name = node(i).inputs[static_cast<std::size_t>(input)];
    const graph::Tensor* tensor = scope_.constant(name);
    std::int64_t axis = axis_of(i, input, tensor->dims.size(), spec.granularity == Granularity::block);
    if (axis < 0) spec.granularity = Granularity::tensor;
    axis = std::max<std::int64_t>(axis, 0);
    std::vector<std::int64_t> rows;
    if (spec.granularity == Granularity::block) rows = kernel_rows(i, input, *tensor);
    const bool matrix = !rows.empty();
    // Zero points that differ from gate to gate are more than runtimes take.
    if (parts_[i].dynamic)
      rows =
          lower::dynamic_rows(node(i), *tensor, spec.symmetric && spec.granularity == Granularity::channel);
    if (!rows.empty() && !matrix) {
      spec.granularity = Granularity::channel;
      axis = 0;
    }
    const bool turned = !rows.empty() && !matrix;  // its rows are not its channels
    const std::int64_t sums =
        turned ? -1 : sums_axis(parts_[i], scheme(i), node(i), input, tensor->dims.size());
    const Place place{static_cast<int>(i), input};
    const std::optional<ReductionOrder> order = order_of(i, input, spec, *tensor);
    const bool bounded = order && spec.symmetric && reduces_range(scheme(i), target_);
    std::string compute = compute_of(i, spec);
    std::vector<std::size_t>& of_tensor = by_tensor_[tensor];
    const auto found = std::ranges::find_if(of_tensor, [&](std::size_t number) {
      const ConstantNote& one = notes_.constants[number];
      return one.spec == spec && one.axis == axis && one.rows == rows && one.compute == compute &&
             are_compatible_sums(one.sums_axis, sums) && (one.order == order || !one.order || !order);
    });
    if (found != of_tensor.end()) {
      ConstantNote* const same = &notes_.constants[*found];
      same->places.push_back(place);
      same->apart = same->apart || stands_apart(i, spec);
      same->sums_axis = std::max(same->sums_axis, sums);
      if (order) same->order = order;
      same->bounded |= bounded;
      return *found;
    }
    of_tensor.push_back(notes_.constants.size());
    notes_.constants.push_back({name,
                                tensor,
                                spec,
                                axis,
                                {place},
                                std::move(rows),
                                std::move(compute),
                                stands_apart(i, spec),
                                matrix,
                                sums,
                                order,
                                bounded});
    return notes_.constants.size() - 1;
  }

  // Where ONNX Runtime multiplies it, as int8, by uint8: data of int8 becomes that in its optimised models.
  std::optional<ReductionOrder> order_of(std::size_t i, int input, const Spec& spec,
                                         const graph::Tensor& tensor) const {
    const bool dynamic = parts_[i].dynamic;
    if (!parts_[i].heavy || spec.element() != graph::ElementType::int8 ||
        spec.granularity == Granularity::block || !(static_[i] || dynamic))
      return std::nullopt;
    if (static_[i] && lower::codes_of(scheme(i).data_in->element()).bits != 8) return std::nullopt;
    return reduction_order(node(i), input, tensor.dims, dynamic);
  }

  // What products round their data to; only those with weights in blocks do.
  std::string compute_of(std::size_t i, const Spec& spec) {
    std::string asked = scheme(i).compute.value_or("float32");
    if (asked == "float32") return {};
    if (asked == "int8" && spec.granularity == Granularity::block && !static_[i]) return asked;
    notes_.nodes[i].reason = fmt::format("compute: {} is not for weights of {}{}", asked, to_string(spec),
                                         static_[i] ? " beside activations in integers" : "");
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
    const bool left = parts_[i].weights.front() == 0;  // its channels are rows, those of a bias columns
    if (cluster < 0 || !has_scales(*tensor, notes_.constants[weight], !left)) return;
    notes_.biases.push_back({name, tensor, place, cluster, weight});
  }

  // Each element is in units of its own channel's scale. A bias that is spread over channels (Gemm's column),
  // or whose channels have a scale for each block, has none, and stays in float.
  static bool has_scales(const graph::Tensor& bias, const ConstantNote& weight, bool same_channels) {
    if (weight.spec.granularity != Granularity::channel)
      return weight.spec.granularity == Granularity::tensor;
    if (!same_channels) return false;
    const std::int64_t channels = weight.tensor->dims[static_cast<std::size_t>(weight.axis)];
    return !bias.dims.empty() && bias.count() == channels && bias.dims.back() == channels;
  }

  // What an input of a node is quantized with; -1: nothing.
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
  GraphNotes& notes_;
  std::unordered_map<std::string, const ValueNote*> by_value_;
  std::map<std::pair<int, int>, int> taken_;  // inputs of nodes that take another cluster than is made
  std::unordered_map<const graph::Tensor*, std::vector<std::size_t>> by_tensor_;  // in notes_.constants
};

}  // namespace

void note_constants(const Scope& scope, const std::vector<Part>& parts, const std::vector<Scheme>& schemes,
                    const std::vector<bool>& is_static, const Target& target, GraphNotes& notes) {
  ConstantAnnotator(scope, parts, schemes, is_static, target, notes).run();
}

}  // namespace anybit::quantizing
