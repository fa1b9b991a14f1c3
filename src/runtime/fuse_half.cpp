// A product in float16 or bfloat16 between Casts: there is no faster arithmetic here than float32, so it is
// computed in float32 on the same values, and what it makes is rounded to the type, as a Cast would.
#include "ops/convert.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;

bool is_product(const Step& step) {
  return is(step, "Conv") || is(step, "ConvTranspose") || is(step, "Gemm") || is(step, "MatMul");
}

bool casts_to(const Program& program, int step, ElementType type) {
  return step >= 0 && casts_to(program.steps[static_cast<std::size_t>(step)], type);
}

// The type that a product is in, if its weight tells it and is a half.
ElementType half_of(const Edit& edit, const Step& step) {
  const ops::Array* weight = step.inputs.size() > 1 ? edit.constant(step.inputs[1]) : nullptr;
  const bool half =
      weight && (weight->type() == ElementType::float16 || weight->type() == ElementType::bfloat16);
  return half ? weight->type() : ElementType::undefined;
}

// A step that rounds float32 values to the type, and gives out float32.
Result<void> round_instead(Edit& edit, const Program& program, std::size_t step, ElementType type) {
  graph::Node node = *program.steps[step].node;
  node.op_type = graph::Text("QuantizeDequantize");
  node.domain = graph::Text("ai.anybit");
  node.attributes.clear();
  set_attribute(node, "format",
                std::string(type == ElementType::float16 ? "float16" : "bfloat16") + " saturate=false");
  return edit.replace(step, std::move(node), program.steps[step].inputs);
}

Result<int> in_float(Edit& edit, int slot, const Resources& resources) {
  const ops::Array& half = *edit.constant(slot);
  ops::Array wide = TRY(ops::Array::make(*resources.memory, ElementType::float32, half.dims()));
  ops::convert(half.type(), half.bytes(), ElementType::float32, wide.mutable_bytes(), half.count());
  return edit.add_constant(std::move(wide));
}

// Every input but the first is a constant; the first is a Cast's, whose only user this is, and so is the Cast
// behind it.
bool fits(const Program& program, const Edit& edit, const Step& step, ElementType type) {
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i] >= 0 && !edit.constant(step.inputs[i])) return false;
  }
  return casts_to(program, edit.producer(step.inputs[0]), type) && edit.uses(step.inputs[0]) == 1 &&
         casts_to(program, edit.only_consumer(step.outputs[0]), ElementType::float32);
}

Result<void> run(Program& program, const Resources& resources) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (!is_product(program.steps[i])) continue;
    const Step& step = program.steps[i];
    const ElementType type = half_of(edit, step);
    if (type == ElementType::undefined || !fits(program, edit, step, type)) continue;
    const auto before = static_cast<std::size_t>(edit.producer(step.inputs[0]));
    const auto behind = static_cast<std::size_t>(edit.only_consumer(step.outputs[0]));
    std::vector<int> inputs = step.inputs;
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      if (inputs[k] >= 0) inputs[k] = TRY(in_float(edit, inputs[k], resources));
    }
    TRY(edit.replace(i, *step.node, std::move(inputs)));
    TRY(round_instead(edit, program, before, type));
    TRY(round_instead(edit, program, behind, type));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_half_descriptors() {
  static const Descriptor all[] = {
      {.name = "half",
       .order = 5,
       .summary = "products in float16 between Casts are computed in float32 and rounded",
       .run = run,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
