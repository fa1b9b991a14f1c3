// A MatMul of quantized matrices with float output, with or without a bias, becomes MatMulIntegerToFloat, and
// a Conv of quantized values ConvIntegerToFloat. Runs after the fusions that look for a QuantizeLinear after
// the MatMul.
#include <algorithm>

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

// The bias as floats: -1 if it is not a constant with one element per channel.
int float_bias(Qdq& qdq, int slot, std::int64_t channels) {
  const auto stored = qdq.from(slot);
  const Array* values = qdq.edit.constant(stored ? stored->value : slot);
  if (!values || values->rank() != 1 || values->count() != channels) return -1;
  if (!stored) return values->type() == ElementType::float32 ? slot : -1;
  const Array* scale = qdq.edit.constant(stored->scale);
  const Array* zero = qdq.edit.constant(stored->zero_point);
  if (values->type() != ElementType::int32 || !scale || scale->type() != ElementType::float32 ||
      (scale->count() != 1 && scale->count() != channels))
    return -1;
  if (!zero || zero->type() != ElementType::int32 ||
      std::ranges::count(zero->elements<std::int32_t>(), 0) != zero->count())
    return -1;
  if (!qdq.resources.afford(channels * 4, channels)) return -1;
  auto made = Array::make(*qdq.resources.memory, ElementType::float32, values->dims());
  if (!made.ok()) return -1;
  for (std::int64_t i = 0; i < channels; ++i)
    made->mutable_data<float>()[i] = static_cast<float>(values->data<std::int32_t>()[i]) *
                                     scale->data<float>()[scale->count() == 1 ? 0 : i];
  return qdq.edit.add_constant(std::move(made).value());
}

Result<void> run_conv(Program& program, const Resources& resources) {
  const ops::Descriptor* fused = ops::find(graph::kAnybit, "ConvIntegerToFloat");
  if (!fused || !fused->run) return {};
  Qdq qdq(program, resources);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i) || !is(program.steps[i], "Conv")) continue;
    const Step& step = program.steps[i];
    const auto x = qdq.activation(step.inputs[0]);
    const auto w = x ? qdq.from(step.inputs[1]) : std::nullopt;
    const Array* weights = w ? qdq.edit.constant(w->value) : nullptr;
    if (!weights || weights->rank() < 3 || !qdq.takes(weights->type()) || !qdq.fit(*w, 0)) continue;
    const std::int64_t channels = weights->dim(0);
    const bool biased = step.inputs.size() > 2 && step.inputs[2] >= 0;
    const int bias = biased ? float_bias(qdq, step.inputs[2], channels) : -1;
    if (biased && bias < 0) continue;
    std::vector<int> inputs{x->value, w->value, x->scale, w->scale, x->zero_point, w->zero_point};
    if (biased) inputs.push_back(bias);
    graph::Node node = graph::as_operator(*step.node, "ConvIntegerToFloat", graph::kAnybit);
    TRY(qdq.edit.replace(i, std::move(node), std::move(inputs)));
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
       .run = run},
      {.name = "qdq_real_conv",
       .order = 14,
       .summary = "Conv of dequantized values with float output becomes ConvIntegerToFloat",
       .run = run_conv,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
