// ConvInteger: convolution of 8-bit integers into int32, which wraps. ONNX: ConvInteger-10.
#include "ops/conv_rules.hpp"
#include "ops/integer_conv.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(ElementType::int32, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(1), outputs); }

constexpr IntegerConvInputs kInputs{.x = 0, .x_zero = 2, .w = 1, .w_zero = 3, .quantized = false};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer_conv(setup, kInputs);
}
Result<void> run(Frame& frame) { return run_integer_conv(frame, kInputs); }

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
       .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
