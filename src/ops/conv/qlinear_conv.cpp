// QLinearConv: convolution of quantized tensors with requantization (docs/formats.md#requantization). ONNX:
// QLinearConv-10. The variant in domain ai.anybit, which only fusions create, takes tensors of up to 16 bits;
// all its inputs but the first are constant. Accumulators are 64-bit where 32 bits may overflow.
#include "ops/conv/conv_quantized.hpp"
#include "ops/conv/conv_rules.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const ElementType type = call.in(7).type != ElementType::undefined ? call.in(7).type : call.in(0).type;
  return outputs_of(call, tensor(type, TRY(conv_shape(call, call.in(0), call.in(3)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(3), outputs); }

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer_conv(setup, kQLinearConvInputs);
}
Result<void> run(Frame& frame) {
  TRY(run_integer_conv(frame, kQLinearConvInputs));
  return {};
}

Result<std::shared_ptr<const Prepared>> prepare_wide(const Setup& setup) {
  return prepare_integer_conv(setup, kQLinearConv16Inputs);
}
Result<void> run_wide(Frame& frame) {
  TRY(run_integer_conv(frame, kQLinearConv16Inputs));
  return {};
}

// The descriptor of one variant; they differ in domain, run and prepare.
Descriptor descriptor(std::string_view domain, std::int16_t since, Run run, Prepare prepare) {
  return {.name = "QLinearConv",
          .domain = domain,
          .since = {since},
          .infer = infer,
          .macs = macs,
          .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                        {.input = 3, .scale = 4, .zero_point = 5},
                        {.input = 8},
                        {.output = 0, .scale = 6, .zero_point = 7}},
          .run = run,
          .prepare = prepare,
          .required = 8,
          .layouts = Layouts::each};
}

}  // namespace

std::span<const Descriptor> qlinear_conv_descriptors() {
  static const Descriptor all[] = {descriptor("", 10, run, prepare),
                                   descriptor(kAnybit, 1, run_wide, prepare_wide)};
  return all;
}

}  // namespace anybit::ops
