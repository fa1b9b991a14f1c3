// DequantizeLinear → pass-through operator → QuantizeLinear with the same parameters: the operator works on
// the integers themselves. Exact, except that Resize by weighted sums is within one quantization step.
#include "graph/node.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;

// One input, one output, and integer types that ONNX allows for the operator.
bool moves(const Step& step) {
  const ops::Traits& traits = step.descriptor->traits;
  return step.outputs.size() == 1 && traits.data == ops::Inputs{0} &&
         traits.passes_quantized(*step.node, step.version);
}

// Not shown to generators: ONNX's operator does not take these integers, or we round in our own way. Resize:
// interpolation weights add up to one, so interpolating the quantized values gives the quantized
// interpolation, up to rounding of ties. tf_crop_and_resize has an extrapolation value outside the image.
bool moves_by_our_kernels(const Step& step) {
  if (!step.descriptor->traits.pass_through.ours) return false;
  return !is(step, "Resize") ||
         attribute_or<std::string>(*step.node, "coordinate_transformation_mode", "") != "tf_crop_and_resize";
}

Result<void> pass_quantized_through(Program& program, const Resources& resources, IntegerTypes accepted,
                                    bool (*works)(const Step&)) {
  Qdq qdq(program, resources, accepted);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i) || !works(program.steps[i])) continue;
    const auto x = qdq.activation(program.steps[i].inputs[0]);
    const auto y = x ? qdq.into(program.steps[i].outputs[0]) : std::nullopt;
    if (!y || !qdq.same_parameters(*x, *y)) continue;
    std::vector<int> inputs = program.steps[i].inputs;
    inputs[0] = x->value;
    TRY(qdq.replace(i, *y, *program.steps[i].node, std::move(inputs)));
  }
  qdq.edit.done();
  return {};
}

Result<void> run(Program& program, const Resources& resources) {
  return pass_quantized_through(program, resources, IntegerTypes::bytes, moves);
}
Result<void> run_wide(Program& program, const Resources& resources) {
  return pass_quantized_through(program, resources, IntegerTypes::wide, moves);
}
Result<void> run_own(Program& program, const Resources& resources) {
  return pass_quantized_through(program, resources, IntegerTypes::wide, moves_by_our_kernels);
}

}  // namespace

std::span<const Descriptor> fuse_qdq_passthrough_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq-move", .order = 11, .summary = "pass-through operators work on the integers", .run = run},
      {.name = "qdq-move-wide", .order = 11, .summary = "the same on integers of 16 bits", .run = run_wide},
      {.name = "qdq-move-own",
       .order = 11,
       .summary = "the same by anybit's own kernels: ReduceMax and ReduceMin, Resize by weighted sums",
       .run = run_own,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
