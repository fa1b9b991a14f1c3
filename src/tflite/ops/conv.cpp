// CONV_2D, DEPTHWISE_CONV_2D, CONV_3D: ONNX's Conv. Weights go from channels last to channels first as
// constants.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"
#include "tflite/window.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// Convolves input 0 with weights in ONNX's order.
Result<void> convolve(OperatorReader& here, const Window& window, std::int64_t group, const Dims& dims,
                      const Dims& order, wire::ActivationFunctionType activation) {
  auto attributes = TRY(window_attributes(here, 0, window, true));
  if (group != 1) attributes.push_back(attribute("group", group));
  const std::string x = TRY(here.value(0, Layout::channels_first));
  const std::string w = TRY(here.graph().rearranged(here.input(1), dims, order));
  std::vector<std::string> inputs{x, w};
  if (here.has(2)) inputs.push_back(TRY(here.graph().bias(here.input(2), here.input(0), here.input(1))));
  return here.define_activated(here.emit("Conv", std::move(inputs), std::move(attributes)), activation,
                               Layout::channels_first);
}

Result<void> check_weights(const OperatorReader& here, std::int64_t rank) {
  const TensorInfo& weights = here.in(1);
  if (weights.rank() != rank)
    return here.invalid(fmt::format("its weights have {} dimensions", weights.rank()),
                        fmt::format("it takes {}", rank));
  for (const std::int64_t size : weights.dims) {
    if (size < 1) return here.unsupported("the sizes of its weights are unknown");
  }
  if (here.in(0).rank() != rank)
    return here.invalid(fmt::format("its input has {} dimensions", here.in(0).rank()),
                        fmt::format("it takes {}", rank));
  return {};
}

// Groups follow from the channels of input and weights; a batch of unknown channels has one.
Result<std::int64_t> groups(const OperatorReader& here, std::int64_t weight_channels) {
  const std::int64_t channels = here.in(0).dims.back();
  if (channels < 0) return 1;
  if (channels % weight_channels == 0) return channels / weight_channels;
  return here.invalid(fmt::format("the input has {} channels and the weights {}", channels, weight_channels));
}

Result<void> read_conv_2d(OperatorReader& here) {
  TRY(check_weights(here, 4));
  const auto& options = here.options<wire::Conv2DOptions>();
  const Dims& weights = here.in(1).dims;
  const Window window{{weights[1], weights[2]},
                      {options.stride_h(), options.stride_w()},
                      {options.dilation_h_factor(), options.dilation_w_factor()},
                      options.padding()};
  return convolve(here, window, TRY(groups(here, weights[3])), weights, {0, 3, 1, 2},
                  options.fused_activation_function());
}

Result<void> read_depthwise_conv_2d(OperatorReader& here) {
  TRY(check_weights(here, 4));
  const auto& options = here.options<wire::DepthwiseConv2DOptions>();
  const Dims& weights = here.in(1).dims;  // [1, height, width, channels]
  std::int64_t channels = here.in(0).dims[3];
  if (channels < 0 && options.depth_multiplier() > 0) channels = weights[3] / options.depth_multiplier();
  if (channels < 1 || weights[3] % channels != 0 || weights[0] != 1) {
    return here.invalid(
        fmt::format("its input has {} channels, and its weights {} × {}", channels, weights[0], weights[3]));
  }
  const Window window{{weights[1], weights[2]},
                      {options.stride_h(), options.stride_w()},
                      {options.dilation_h_factor(), options.dilation_w_factor()},
                      options.padding()};
  return convolve(here, window, channels, weights, {3, 0, 1, 2}, options.fused_activation_function());
}

Result<void> read_conv_3d(OperatorReader& here) {
  TRY(check_weights(here, 5));
  const auto& options = here.options<wire::Conv3DOptions>();
  const Dims& weights = here.in(1).dims;  // [depth, height, width, input channels, channels]
  const Window window{{weights[0], weights[1], weights[2]},
                      {options.stride_d(), options.stride_h(), options.stride_w()},
                      {options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()},
                      options.padding()};
  return convolve(here, window, TRY(groups(here, weights[3])), weights, {4, 3, 0, 1, 2},
                  options.fused_activation_function());
}

}  // namespace

std::span<const Descriptor> conv_descriptors() {
  static const Descriptor all[] = {
      {.name = "CONV_2D", .code = wire::BuiltinOperator::CONV_2D, .inputs = 2, .read = read_conv_2d},
      {.name = "DEPTHWISE_CONV_2D",
       .code = wire::BuiltinOperator::DEPTHWISE_CONV_2D,
       .inputs = 2,
       .read = read_depthwise_conv_2d},
      {.name = "CONV_3D", .code = wire::BuiltinOperator::CONV_3D, .inputs = 2, .read = read_conv_3d},
  };
  return all;
}

}  // namespace anybit::tflite
