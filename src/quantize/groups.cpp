#include "quantize/groups.hpp"

#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/node.hpp"

namespace anybit::quantizing {
namespace {

using formats::Use;
using graph::Node;

using Linear = ops::Traits::Linear;

Linear linear_of(const Node& node) {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  return descriptor ? descriptor->traits.linear : Linear::none;
}

bool is_convolution(Linear linear) {
  return linear == Linear::convolution || linear == Linear::transposed_convolution;
}

// Returns true for a convolution with one input channel per group, such as a depthwise one.
bool sums_one_channel(const Scope& scope, const Node& node) {
  const Linear linear = linear_of(node);
  const ops::NodeFacts* facts = is_convolution(linear) ? scope.facts().find(node) : nullptr;
  if (!facts || facts->inputs.size() < 2 || !facts->inputs[1]) return false;
  const std::optional<ops::Shape>& weight = facts->inputs[1]->shape;
  if (!weight || weight->size() < 3) return false;
  if (linear == Linear::convolution) return (*weight)[1].is(1);
  return ops::floor_div((*weight)[0], graph::attribute_or<std::int64_t>(node, "group", 1)).is(1);
}

// The reduction axis of an activation. Blocks run along it, so that one scale applies to a run of products.
std::int64_t reduction_axis(const Node& node, int input, std::optional<std::size_t> rank) {
  const Linear linear = linear_of(node);
  if (rank == 1) return -1;
  if (is_convolution(linear)) return 1;
  if (linear == Linear::none) return -1;
  const bool turned = graph::attribute_or<std::int64_t>(node, input == 0 ? "transA" : "transB", 0) != 0;
  return (input == 0) != turned ? -1 : -2;
}

// The default axis of blocks or channels of an activation.
std::int64_t data_axis(const Scope& scope, const Node& node, int input, std::optional<std::size_t> rank,
                       const Spec& spec) {
  if (input < 0) return -1;
  if (spec.granularity() == Granularity::block && sums_one_channel(scope, node)) return -1;
  if (spec.granularity() == Granularity::channel && !spec.use.grouping.granularity)
    return 0;  // implied by a profile
  return reduction_axis(node, input, rank);
}

bool shares_over_an_axis(const Spec& spec) {
  return spec.granularity() == Granularity::channel || spec.granularity() == Granularity::block;
}

Result<void> check_axis(std::int64_t axis, std::int64_t rank, std::string_view of) {
  if (axis >= -rank && axis < rank) return {};
  return invalid_argument(fmt::format("axis {} of {} of rank {}", axis, of, rank),
                          fmt::format("{} to {}", -rank, rank - 1));
}

// The rank of input `input`, or of the output; that of a convolution equals the rank of its weights.
std::optional<std::size_t> rank_of(const Scope& scope, const Node& node, int input) {
  const ops::NodeFacts* facts = scope.facts().find(node);
  const ops::Value* value = nullptr;
  const auto at = static_cast<std::size_t>(input);
  if (facts && input < 0 && !facts->outputs.empty()) value = &facts->outputs[0];
  if (facts && input >= 0 && at < facts->inputs.size()) value = facts->inputs[at];
  if (value && value->shape) return value->shape->size();
  const bool convolves = node.inputs.size() > 1 && is_convolution(linear_of(node));
  const graph::Tensor* weight = convolves ? scope.constant(node.inputs[1]) : nullptr;
  return weight ? std::optional(weight->dims.size()) : std::nullopt;
}

}  // namespace

WeightView weight_view(const Scope& scope, const Node& node, const ops::Traits::Weight* weight,
                       const graph::Tensor& tensor, const Spec& spec) {
  const std::vector<std::int64_t>& dims = tensor.dims;
  const auto rank = std::ssize(dims);
  const auto axis_by = [&](ops::ChannelAxis axis) { return axis ? axis(node, dims.size()) : -1; };
  std::int64_t channels = weight ? axis_by(weight->channel_axis) : -1;
  // A depthwise ConvTranspose: input and output channels are the same.
  if (channels == 1 && !spec.is_integer() && sums_one_channel(scope, node)) channels = 0;
  if (channels < 0) return {dims, -1, rank - 1};
  const std::int64_t summed = weight ? axis_by(weight->reduction_axis) : -1;
  if (summed >= 0) return {dims, channels, summed};
  // A ConvTranspose with blocks: a matrix with one row per input channel. ONNX integers keep the tensor's own
  // dimensions.
  if (channels == 1 && rank > 2 && !spec.is_integer() && spec.granularity() != Granularity::channel)
    return {{dims[0], dims[0] > 0 ? tensor.count() / dims[0] : 0}, 1, 0};
  if (channels > 0) return {dims, channels, channels - 1};
  if (rank < 2) return {dims, 0, rank - 1};
  return {{dims[0], dims[0] > 0 ? tensor.count() / dims[0] : 0}, 0, 1};
}

WeightView data_view(const Scope& scope, const Node& node, int input, const graph::Tensor& tensor,
                     const Spec& spec) {
  const auto rank = std::ssize(tensor.dims);
  std::int64_t axis = data_axis(scope, node, input, tensor.dims.size(), spec);
  if (axis < 0) axis = std::max<std::int64_t>(axis + rank, 0);
  return {tensor.dims, axis, axis};
}

WeightView plain_view(const graph::Tensor& tensor) {
  const std::int64_t last = std::max<std::int64_t>(std::ssize(tensor.dims) - 1, 0);
  return {tensor.dims, last, last};
}

Result<GroupedSpec> grouped(Spec spec, WeightView view, const graph::Tensor& tensor,
                            const std::string& name) {
  formats::GroupingOptions& grouping = spec.use.grouping;
  const Granularity granularity = spec.granularity();
  if (shares_over_an_axis(spec) && grouping.axis) {
    view.dims = tensor.dims;  // the caller's axis refers to the weight's own dimensions
    TRY(check_axis(*grouping.axis, std::ssize(view.dims), fmt::format("'{}'", name)));
  } else {
    grouping.axis.reset();
    const std::int64_t axis = granularity == Granularity::channel ? view.channels
                              : granularity == Granularity::block ? view.blocks
                                                                  : -1;
    if (axis >= 0) grouping.axis = axis;
    if (axis < 0 && shares_over_an_axis(spec)) spec.set_granularity(Granularity::tensor);
  }
  if (view.dims.empty()) view.dims = {1};
  if (grouping.axis) spec.use.rank = std::ssize(view.dims);
  return GroupedSpec{std::move(spec), std::move(view.dims)};
}

// The axis is nonnegative, so that equal uses compare equal; without a rank it can only be the last.
Result<Use> use_on_value(const Scope& scope, const Node& node, int input, const Spec& spec) {
  Use use = spec.use;
  const formats::Descriptor* format = TRY(formats::find(use.format));
  if (format->settle) format->settle(use.parameters);
  if (!shares_over_an_axis(spec)) {
    use.grouping.axis.reset();
    return use;
  }
  const std::optional<std::size_t> rank = rank_of(scope, node, input);
  std::int64_t axis = use.grouping.axis.value_or(data_axis(scope, node, input, rank, spec));
  use.grouping.axis = axis;
  if (axis == -1) return use;
  if (!rank)
    return error_at(Code::unsupported, {}, "the rank of its input is not known", "a model with shapes");
  const auto size = static_cast<std::int64_t>(*rank);
  TRY(check_axis(axis, size, "a value"));
  if (axis < 0) axis += size;
  use.grouping.axis = axis == size - 1 ? -1 : axis;
  if (axis != size - 1) use.rank = size;
  return use;
}

}  // namespace anybit::quantizing
