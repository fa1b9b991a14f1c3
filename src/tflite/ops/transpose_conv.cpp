// TRANSPOSE_CONV: ONNX's ConvTranspose. Its size is an input; ONNX's follows from pads and output padding.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"
#include "tflite/window.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

constexpr std::size_t kSize = 0, kWeights = 1, kData = 2, kBias = 3;

// Height and width of the output.
Result<Dims> output_size(OperatorReader& here) {
  Dims dims = here.out().dims;
  if (here.constant(kSize)) dims = TRY(here.integers(kSize));
  if (dims.size() != 4)
    return here.invalid(fmt::format("its output has {} dimensions", dims.size()), "it takes 4");
  if (dims[1] < 1 || dims[2] < 1) return here.unsupported("the size of its output is not constant");
  return Dims{dims[1], dims[2]};
}

Result<void> read_transpose_conv(OperatorReader& here) {
  const auto& options = here.options<wire::TransposeConvOptions>();
  const Dims weights = here.in(kWeights).dims,
             input = here.in(kData).dims;  // [channels, height, width, input channels]
  if (weights.size() != 4 || input.size() != 4)
    return here.invalid("its weights and its input need 4 dimensions");
  const Dims size = TRY(output_size(here)), strides{options.stride_h(), options.stride_w()};
  const Dims kernel{weights[1], weights[2]};
  Dims pads(4, 0), more(2, 0);
  for (std::size_t a = 0; a < 2; ++a) {
    if (strides[a] < 1 || kernel[a] < 1 || input[a + 1] < 1)
      return here.unsupported("strides, kernel and height and width of the input need known, positive sizes");
    const bool same = options.padding() == wire::Padding::SAME;
    pads[a] = same ? same_padding(size[a], kernel[a], strides[a], 1) / 2 : 0;
    const std::int64_t after = (input[a + 1] - 1) * strides[a] + kernel[a] - pads[a] - size[a];
    pads[a + 2] = std::max<std::int64_t>(after, 0);
    more[a] = std::max<std::int64_t>(-after, 0);
  }
  std::vector<graph::Attribute> attributes{attribute("kernel_shape", kernel), attribute("strides", strides),
                                           attribute("pads", pads)};
  if (more != Dims{0, 0}) attributes.push_back(attribute("output_padding", more));
  const std::string x = TRY(here.value(kData, Layout::channels_first));
  const std::string w = TRY(here.graph().rearranged(here.input(kWeights), weights, {3, 0, 1, 2}));
  std::vector<std::string> inputs{x, w};
  if (here.has(kBias))
    inputs.push_back(TRY(here.graph().bias(here.input(kBias), here.input(kData), here.input(kWeights))));
  return here.define_activated(here.emit("ConvTranspose", std::move(inputs), std::move(attributes)),
                               options.fused_activation_function(), Layout::channels_first);
}

}  // namespace

std::span<const Descriptor> transpose_conv_descriptors() {
  static const Descriptor all[] = {{.name = "TRANSPOSE_CONV",
                                    .code = wire::BuiltinOperator::TRANSPOSE_CONV,
                                    .inputs = 3,
                                    .read = read_transpose_conv}};
  return all;
}

}  // namespace anybit::tflite
