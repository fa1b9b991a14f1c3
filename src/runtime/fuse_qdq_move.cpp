// DequantizeLinear → operator that only moves values → QuantizeLinear with the same parameters: the operator
// works on the integers themselves. Exact; Resize by weighted sums is within one step.
#include "graph/node.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;

// From one value to one, in integers that ONNX knows.
bool moves(const Step& step) {
  const ops::Traits& traits = step.descriptor->traits;
  return step.outputs.size() == 1 && traits.data == ops::Inputs{0} &&
         traits.moves_codes(*step.node, step.version);
}

// What generators do not get to see: of integers it is none of ONNX's, or rounded in a way of our own.
// Resize: weights of neighbours add up to one, so the weighted sum of codes is the code of the weighted sum,
// but for rounding where it lies in the middle of two. tf_crop_and_resize has a value of its own for places
// beyond the border.
bool moves_by_our_kernels(const Step& step) {
  if (!step.descriptor->traits.codes.ours) return false;
  return !is(step, "Resize") ||
         attribute_or<std::string>(*step.node, "coordinate_transformation_mode", "") != "tf_crop_and_resize";
}

Result<void> work_on_codes(Program& program, const Resources& resources, Codes codes,
                           bool (*works)(const Step&)) {
  Qdq qdq(program, resources, codes);
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
  return work_on_codes(program, resources, Codes::bytes, moves);
}
Result<void> run_wide(Program& program, const Resources& resources) {
  return work_on_codes(program, resources, Codes::wide, moves);
}
Result<void> run_own(Program& program, const Resources& resources) {
  return work_on_codes(program, resources, Codes::wide, moves_by_our_kernels);
}

}  // namespace

std::span<const Descriptor> fuse_qdq_move_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq-move",
       .order = 11,
       .summary = "operators that move values work on the integers",
       .run = run},
      {.name = "qdq-move-wide", .order = 11, .summary = "the same on integers of 16 bits", .run = run_wide},
      {.name = "qdq-move-own",
       .order = 11,
       .summary = "the same by kernels of ours: extremes over axes, Resize by weighted sums",
       .run = run_own,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
