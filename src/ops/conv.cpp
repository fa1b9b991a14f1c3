// Conv and its quantized forms: sliding dot products over spatial axes. ONNX: Conv-1, -11, -22;
// ConvInteger-10; QLinearConv-10; ONNX Runtime's FusedConv.
#include "ops/rules.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

Result<std::optional<Shape>> conv_shape(const Call& call, const Value& x, const Value& w) {
  const std::size_t rank = x.shape ? x.shape->size() : w.shape ? w.shape->size() : 0;
  if (!x.shape && !w.shape) return std::optional<Shape>();
  if (rank < 3)
    return wrong(fmt::format("the input has rank {}; a convolution needs batch, channels and space", rank));
  if (w.shape && w.shape->size() != rank) {
    return wrong(fmt::format("the weight has rank {}, the input {}", w.shape->size(), rank));
  }
  const Shape input = x.shape.value_or(unknown_shape(rank));
  const auto kernel = TRY(kernel_of(call, w.shape, rank - 2));
  if (w.shape) {
    const Dim channels = (*w.shape)[1] * Dim(call.integer("group", 1));
    if (channels.known() && input[1].known() && !same(channels, input[1])) {
      return wrong(
          fmt::format("the input has {} channels, the weight expects {}", *input[1].size, *channels.size));
    }
  }
  Shape shape = TRY(slide(TRY(window_of(call, kernel)), std::span(input).subspan(2)));
  shape.insert(shape.begin(), {input[0], w.shape ? (*w.shape)[0] : Dim()});
  return std::optional(std::move(shape));
}

// Each output element is a sum over one kernel: channels per group times kernel size.
Dim macs_with(const Value& w, std::span<const Value> outputs) {
  if (!w.shape || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * product(std::span(*w.shape).subspan(1));
}

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Result<Values> infer_integer(const Call& call) {
  return outputs_of(call, tensor(ElementType::int32, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Result<Values> infer_qlinear(const Call& call) {
  const ElementType type = call.in(7).type != ElementType::undefined ? call.in(7).type : call.in(0).type;
  return outputs_of(call, tensor(type, TRY(conv_shape(call, call.in(0), call.in(3)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return macs_with(call.in(1), outputs); }
Dim macs_qlinear(const Call& call, std::span<const Value> outputs) { return macs_with(call.in(3), outputs); }

}  // namespace

std::span<const Descriptor> conv_descriptors() {
  static const Descriptor all[] = {
      {.name = "Conv", .domain = "", .since = {1, 11, 22}, .infer = infer, .macs = macs},
      {.name = "FusedConv", .domain = kMicrosoft, .since = {1}, .infer = infer, .macs = macs},
      {.name = "ConvInteger",
       .domain = "",
       .since = {10},
       .infer = infer_integer,
       .macs = macs,
       .quantized = {{.input = 0, .zero_point = 2}, {.input = 1, .zero_point = 3}}},
      {.name = "QLinearConv",
       .domain = "",
       .since = {10},
       .infer = infer_qlinear,
       .macs = macs_qlinear,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                     {.input = 3, .scale = 4, .zero_point = 5},
                     {.input = 8},
                     {.output = 0, .scale = 6, .zero_point = 7}}},
  };
  return all;
}

}  // namespace anybit::ops
