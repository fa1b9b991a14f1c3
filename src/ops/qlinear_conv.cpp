// QLinearConv: convolution of quantized tensors, requantized; as docs/formats.md#requantization says. ONNX:
// QLinearConv-10.
#include "ops/conv_rules.hpp"
#include "ops/integer_conv.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const ElementType type = call.in(7).type != ElementType::undefined ? call.in(7).type : call.in(0).type;
  return outputs_of(call, tensor(type, TRY(conv_shape(call, call.in(0), call.in(3)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(3), outputs); }

constexpr IntegerConvInputs kInputs{.x = 0, .x_zero = 2, .w = 3, .w_zero = 5, .quantized = true};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer_conv(setup, kInputs);
}
Result<void> run(Frame& frame) { return run_integer_conv(frame, kInputs); }

}  // namespace

std::span<const Descriptor> qlinear_conv_descriptors() {
  static const Descriptor all[] = {{.name = "QLinearConv",
                                    .domain = "",
                                    .since = {10},
                                    .infer = infer,
                                    .macs = macs,
                                    .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                                                  {.input = 3, .scale = 4, .zero_point = 5},
                                                  {.input = 8},
                                                  {.output = 0, .scale = 6, .zero_point = 7}},
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 8,
                                    .layouts = Layouts::each}};
  return all;
}

}  // namespace anybit::ops
