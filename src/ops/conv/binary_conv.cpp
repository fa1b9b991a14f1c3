// BinaryConv of ai.anybit: fuses a Conv, the Decode of its binary weight and the QuantizeDequantize of its
// binary input. Multiplies ±1 by popcount and scales the sums; padding contributes 0. Inputs: the tensor
// before quantization, a bias (optional), then the inputs of Decode. Attributes: those of Decode and of Conv,
// and `scaled` as in BinaryMatMul.
#include "kernels/conv/im2col.hpp"
#include "kernels/gemm/gemm_binary.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_rules.hpp"
#include "ops/conv/window.hpp"
#include "ops/layout.hpp"
#include "ops/matmul/packed_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

Value weight_value(const Call& call) {
  const auto dims = call.integers("dims");
  if (!dims) return tensor(ElementType::float32, std::nullopt);
  return tensor(ElementType::float32, Shape(dims->begin(), dims->end()));
}

Result<Values> infer(const Call& call) {
  return outputs_of(call,
                    tensor(ElementType::float32, TRY(conv_shape(call, call.in(0), weight_value(call)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(weight_value(call), outputs); }

struct Weight : Prepared {
  std::vector<kernels::PackedBinary> groups;
  std::vector<float> factors;  // by output channel
  Dims dims;
  std::int64_t bytes() const override {
    return bytes_of_all(groups) + static_cast<std::int64_t>(factors.size() * sizeof(float));
  }
};

Result<std::shared_ptr<const Weight>> weight_of(const Attributes& node,
                                                std::span<const Array* const> stored) {
  const StoredWeight packed = TRY(StoredWeight::of(node, nullptr, stored));
  const Dims dims{std::span(packed.dims)};
  const auto sizes = weight_sizes(node, dims);
  if (!sizes || !binary_columns(packed.codec, true) || packed.codec.grouping().dims[0] != dims[0])
    return wrong(
        fmt::format("a weight of {}, [{}]", packed.codec.descriptor().name, fmt::join(packed.dims, ", ")),
        "a binary (+1, -1) convolution weight, packed as a matrix with one row per output channel");
  BinaryColumns columns = BinaryColumns::of(packed, true);
  const std::int64_t channels = sizes->in_per_group(), taps = kernel_size(sizes->window);
  auto weight = std::make_shared<Weight>();
  weight->dims = dims;
  weight->factors = std::move(columns.scales);
  for (std::int64_t group = 0; group < sizes->groups; ++group) {
    const std::int64_t first = group * sizes->out_per_group();
    weight->groups.emplace_back(
        sizes->depth(), sizes->out_per_group(), [&](std::int64_t row, std::int64_t column) {
          return columns.negative(((first + column) * channels + row % channels) * taps + row / channels);
        });
  }
  return std::shared_ptr<const Weight>(std::move(weight));
}

Result<void> run(Frame& frame) {
  const Array& given = frame.in(0);
  if (given.type() != ElementType::float32) return wrong_type(frame, 0);
  const std::shared_ptr<const Weight> weight = TRY(stored_weight<Weight>(frame, weight_of));
  const ConvSizes sizes = TRY(conv_sizes(frame, given.dims(), weight->dims));
  const bool biased = frame.has(1);
  if (biased) TRY(check_bias(frame.in(1), ElementType::float32, sizes.out_channels));
  const Array x = TRY(in_layout(frame, given, Layout::channels_last));
  const Array bias = TRY(in_layout(frame, frame.in(1), Layout::plain));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const Layout layout = output_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array& out = *TRY(frame.out(0, ElementType::float32, dims, layout));
  const auto signs = TRY(frame.scratch_of<std::uint8_t>(x.count()));
  parallel(frame, x.count(), 0.2, [&](std::int64_t first, std::int64_t last) {
    kernels::binarize(x.data<float>() + first, last - first, signs.data() + first);
  });
  const float scale = binary_scale(frame, x);
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const kernels::Sign padding = kernels::Sign::none;
    const kernels::ConvRows rows(sizes, group, signs.data(), 1, &padding);
    const std::int64_t first = group * sizes.out_per_group();
    kernels::multiply({.m = sizes.batch * output_size(sizes.window),
                       .rows = &rows,
                       .b = &weight->groups[static_cast<std::size_t>(group)],
                       .c = out.mutable_data<float>() + first,
                       .c_stride = sizes.out_channels,
                       .scale = scale,
                       .factors = weight->factors.data() + first,
                       .addend = {biased ? bias.data<float>() + first : nullptr, 0, 1}},
                      frame.pool());
  }
  return {};
}

}  // namespace

std::span<const Descriptor> binary_conv_descriptors() {
  static const Descriptor all[] = {{.name = "BinaryConv",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .prepare = prepare_packed<Weight, weight_of>,
                                    .required = 1,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
