// BatchNormalization, and additions of a constant to each channel, go into the weights and the bias of the
// Conv before them: w' = w·γ/σ, b' = (b − μ)·γ/σ + β. In double, rounded once; left alone if a weight would
// overflow.
#include <cmath>
#include <optional>

#include "graph/node.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

// y = x · factor + offset, by channel.
struct Affine {
  std::vector<double> factor, offset;
};

double real(const Step& step, std::string_view name, double otherwise) {
  const graph::Attribute* attribute = step.node->attribute(name);
  const auto* value = attribute ? std::get_if<float>(&attribute->value) : nullptr;
  return value ? static_cast<double>(*value) : otherwise;
}

// A constant of float32 with `count` elements.
const float* floats(const Edit& edit, int slot, std::int64_t count) {
  const Array* array = edit.constant(slot);
  return array && array->type() == ElementType::float32 && array->count() == count ? array->data<float>()
                                                                                   : nullptr;
}

std::optional<Affine> normalization(const Edit& edit, const Step& step, std::int64_t channels) {
  const bool inference =
      step.version >= 7 && graph::attribute_or<std::int64_t>(*step.node, "training_mode", 0) == 0 &&
      graph::attribute_or<std::int64_t>(*step.node, "spatial", 1) == 1 && step.inputs.size() == 5;
  if (!inference) return std::nullopt;
  for (std::size_t i = 1; i < step.outputs.size(); ++i) {
    if (edit.uses(step.outputs[i]) > 0) return std::nullopt;
  }
  const float* numbers[5] = {};
  for (std::size_t i = 1; i < 5; ++i) {
    numbers[i] = floats(edit, step.inputs[i], channels);
    if (!numbers[i]) return std::nullopt;
  }
  Affine affine;
  const double epsilon = real(step, "epsilon", 1e-5);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double factor =
        static_cast<double>(numbers[1][c]) / std::sqrt(static_cast<double>(numbers[4][c]) + epsilon);
    affine.factor.push_back(factor);
    affine.offset.push_back(static_cast<double>(numbers[2][c]) - static_cast<double>(numbers[3][c]) * factor);
  }
  return affine;
}

// Add or Mul with a constant: one number, or [C, 1, …] or [1, C, 1, …] for tensors of rank `rank`.
std::optional<Affine> arithmetic(const Edit& edit, const Step& step, int slot, std::int64_t channels,
                                 std::size_t rank) {
  if (step.version < 7 || step.inputs.size() != 2) return std::nullopt;  // it broadcast by an attribute
  const int other = step.inputs[0] == slot ? step.inputs[1] : step.inputs[0];
  const Array* numbers = edit.constant(other);
  if (!numbers || numbers->type() != ElementType::float32 || numbers->rank() > rank) return std::nullopt;
  const std::size_t axis = numbers->rank() + 1 == rank ? 0 : 1;  // of the channels
  const bool by_channel = numbers->rank() + 1 >= rank && numbers->dim(axis) == channels;
  if (numbers->count() != (by_channel ? channels : 1)) return std::nullopt;
  Affine affine;
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto one = static_cast<double>(numbers->data<float>()[by_channel ? c : 0]);
    affine.factor.push_back(is(step, "Mul") ? one : 1.0);
    affine.offset.push_back(is(step, "Mul") ? 0.0 : one);
  }
  return affine;
}

bool all_finite(const Array& array) {
  return std::ranges::all_of(array.elements<float>(), [](float one) { return std::isfinite(one); });
}

// The weights and the bias, changed; nothing if they cannot be.
Result<std::optional<std::pair<Array, Array>>> changed(const Edit& edit, const Step& conv,
                                                       const Affine& affine, ops::Memory& memory) {
  const Array& w = *edit.constant(conv.inputs[1]);
  const bool biased = conv.inputs.size() > 2 && conv.inputs[2] >= 0;
  const float* bias = biased ? floats(edit, conv.inputs[2], w.dim(0)) : nullptr;
  std::optional<std::pair<Array, Array>> result;
  if (biased && !bias) return result;
  Array weights = TRY(Array::make(memory, ElementType::float32, w.dims()));
  Array offsets = TRY(Array::make(memory, ElementType::float32, {w.dim(0)}));
  const std::int64_t each = w.count() / w.dim(0);
  for (std::int64_t c = 0; c < w.dim(0); ++c) {
    const double factor = affine.factor[static_cast<std::size_t>(c)];
    for (std::int64_t i = c * each; i < (c + 1) * each; ++i) {
      weights.mutable_data<float>()[i] = static_cast<float>(static_cast<double>(w.data<float>()[i]) * factor);
    }
    const double before = bias ? static_cast<double>(bias[c]) : 0.0;
    offsets.mutable_data<float>()[c] =
        static_cast<float>(before * factor + affine.offset[static_cast<std::size_t>(c)]);
  }
  if (all_finite(weights) && all_finite(offsets)) result.emplace(std::move(weights), std::move(offsets));
  return result;
}

// What the step that follows the convolution does to each channel, if it is no more than that.
std::optional<Affine> affine_after(const Edit& edit, const Step& conv, const Step& next) {
  const Array* w = conv.inputs.size() > 1 ? edit.constant(conv.inputs[1]) : nullptr;
  if (!w || w->type() != ElementType::float32 || w->rank() < 3 || w->count() == 0) return std::nullopt;
  const int slot = conv.outputs[0];
  if (is(next, "BatchNormalization") && next.inputs[0] == slot) return normalization(edit, next, w->dim(0));
  if (is(next, "Add") || is(next, "Mul")) return arithmetic(edit, next, slot, w->dim(0), w->rank());
  return std::nullopt;
}

Result<void> run(Program& program, const Resources& resources) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (edit.removed(i) || !is(program.steps[i], "Conv")) continue;
    const Step& conv = program.steps[i];
    const int next = edit.only_consumer(conv.outputs[0]);
    if (next < 0) continue;
    const auto last = static_cast<std::size_t>(next);
    const auto affine = affine_after(edit, conv, program.steps[last]);
    if (!affine) continue;
    const Array& shared = *edit.constant(conv.inputs[1]);  // maybe by many: each gets its own
    if (!resources.afford(static_cast<std::int64_t>(shared.byte_count()), shared.count())) continue;
    auto changes = changed(edit, conv, *affine, *resources.memory);
    if (!changes.ok()) return std::move(changes).error().within(conv.place);
    auto made = std::move(changes).value();
    if (!made) continue;
    graph::Node node = *conv.node;
    const int weights = edit.add_constant(std::move(made->first));
    const int bias = edit.add_constant(std::move(made->second));
    // BatchNormalization has outputs of its own beside the one that counts; nobody uses them.
    TRY(edit.replace(i, last, std::move(node), {conv.inputs[0], weights, bias}));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_batch_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "batch_norm",
       .order = 15,
       .summary = "BatchNormalization, constant Add and Mul after Conv go into its weights",
       .run = run}};
  return all;
}

}  // namespace anybit::runtime
