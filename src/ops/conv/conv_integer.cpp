// ConvInteger: convolution of 8-bit integers into int32, with wrap-around. ONNX: ConvInteger-10.
// ConvIntegerToFloat of ai.anybit, which only fusions make: the counterpart of ONNX Runtime's
// MatMulIntegerToFloat for convolutions, with an activation as in FusedConv.
#include "kernels/elementwise/unary.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_quantized.hpp"
#include "ops/conv/conv_rules.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(ElementType::int32, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(1), outputs); }

Result<Values> infer_real(const Call& call) {
  return outputs_of(call, tensor(ElementType::float32, TRY(conv_shape(call, call.in(0), call.in(1)))));
}

constexpr IntegerConvInputs kSums{.x = 0, .x_zero = 2, .w = 1, .w_zero = 3, .result = ConvResult::sums};
constexpr IntegerConvInputs kReals{.x = 0,
                                   .x_zero = 4,
                                   .w = 1,
                                   .w_zero = 5,
                                   .result = ConvResult::reals,
                                   .x_scale = 2,
                                   .w_scale = 3,
                                   .bias = 6};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer_conv(setup, kSums);
}
Result<std::shared_ptr<const Prepared>> prepare_real(const Setup& setup) {
  return prepare_integer_conv(setup, kReals);
}

Result<void> run(Frame& frame) {
  TRY(run_integer_conv(frame, kSums));
  return {};
}

// An activation as an elementwise kernel.
struct Function {
  kernels::Map map;
  float a = 0, b = 0;
};

std::optional<Function> function_of(const kernels::Activation& activation) {
  using Kind = kernels::Activation::Kind;
  using kernels::Map;
  switch (activation.kind) {
    case Kind::none:
      return std::nullopt;
    case Kind::relu:
      return Function{Map::relu};
    case Kind::leaky_relu:
      return Function{Map::leaky_relu, activation.a};
    case Kind::clip:
      return Function{Map::clip, activation.a, activation.b};
    case Kind::sigmoid:
      return Function{Map::sigmoid};
    case Kind::tanh:
      return Function{Map::tanh};
    case Kind::hard_sigmoid:
      return Function{Map::hard_sigmoid, activation.a, activation.b};
    case Kind::hard_swish:
      return Function{Map::hard_swish, 1.0F / 6, 0.5F};
    case Kind::silu:
      return Function{Map::swish, 1};
  }
  return std::nullopt;
}

Result<void> run_real(Frame& frame) {
  const auto function = function_of(TRY(activation_of(frame)));
  Array* out = TRY(run_integer_conv(frame, kReals));
  if (!function) return {};
  float* y = out->mutable_data<float>();
  parallel(frame, out->stored(), 0.3, [&function, y](std::int64_t first, std::int64_t last) {
    kernels::map(function->map, y + first, y + first, static_cast<std::size_t>(last - first), function->a,
                 function->b);
  });
  return {};
}

}  // namespace

std::span<const Descriptor> conv_integer_descriptors() {
  static const Descriptor all[] = {
      {.name = "ConvInteger",
       .domain = "",
       .since = {10},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 0, .zero_point = 2}, {.input = 1, .zero_point = 3}},
       .run = run,
       .prepare = prepare,
       .required = 2,
       .layouts = Layouts::each},
      {.name = "ConvIntegerToFloat",
       .domain = kAnybit,
       .since = {1},
       .infer = infer_real,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 2, .zero_point = 4}, {.input = 1, .scale = 3, .zero_point = 5}},
       .run = run_real,
       .prepare = prepare_real,
       .required = 4,
       .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
