// A MatMul of quantized matrices with float output, with or without a bias, becomes MatMulIntegerToFloat.
// Runs after the fusions that look for a QuantizeLinear after the MatMul.
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

// A constant matrix with one scale per column, or another activation.
std::optional<Quantized> second_factor(Qdq& qdq, int slot) {
  if (const auto activation = qdq.activation(slot)) return activation;
  const auto held = qdq.from(slot);
  const Array* matrix = held ? qdq.edit.constant(held->value) : nullptr;
  if (!matrix || matrix->rank() != 2 || !qdq.takes(matrix->type())) return std::nullopt;
  return qdq.fit(*held, 1) ? held : std::nullopt;
}

// The Add of a constant row to the result; -1 if there is none.
int adds_row(Qdq& qdq, int result, int& row) {
  const int next = qdq.edit.only_consumer(result);
  if (next < 0 || !is(qdq.program.steps[static_cast<std::size_t>(next)], "Add")) return -1;
  const Step& step = qdq.program.steps[static_cast<std::size_t>(next)];
  row = step.inputs[0] == result ? step.inputs[1] : step.inputs[0];
  const Array* values = qdq.edit.constant(row);
  const bool is_row = values && values->type() == ElementType::float32 && values->rank() > 0 &&
                      values->count() == values->dim(values->rank() - 1);
  return is_row ? next : -1;
}

Result<void> run(Program& program, const Resources& resources) {
  const ops::Descriptor* fused = ops::find(ops::kMicrosoft, "MatMulIntegerToFloat");
  if (!fused || !fused->run) return {};
  Qdq qdq(program, resources);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i) || !is(program.steps[i], "MatMul")) continue;
    const Step& step = program.steps[i];
    const auto a = qdq.activation(step.inputs[0]);
    const auto b = a ? second_factor(qdq, step.inputs[1]) : std::nullopt;
    if (!b) continue;
    std::vector<int> inputs{a->value, b->value, a->scale, b->scale, a->zero_point, b->zero_point};
    graph::Node node = graph::as_operator(*step.node, "MatMulIntegerToFloat", graph::kMicrosoft);
    int row = -1;
    const Array* matrix = qdq.edit.constant(b->value);
    const int adds = matrix ? adds_row(qdq, step.outputs[0], row) : -1;
    if (adds >= 0 && qdq.edit.constant(row)->count() == matrix->dim(1)) {
      inputs.push_back(row);
      TRY(qdq.edit.replace(i, static_cast<std::size_t>(adds), std::move(node), std::move(inputs)));
    } else {
      TRY(qdq.edit.replace(i, std::move(node), std::move(inputs)));
    }
  }
  qdq.edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_qdq_float_output_descriptors() {
  static const Descriptor all[] = {
      {.name = "qdq_real",
       .order = 14,
       .summary = "MatMul of dequantized matrices with float output becomes MatMulIntegerToFloat",
       .run = run}};
  return all;
}

}  // namespace anybit::runtime
