// Makes the ops after a convolution its epilogue: the sum with another tensor, and an activation. The result
// is ONNX Runtime's FusedConv, which some files contain already; two of the activation names are our own.
// ConvIntegerToFloat takes an activation, too.
#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/node.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "runtime/activations.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

struct Found {
  std::size_t last;               // the step whose output the fused node produces
  std::vector<std::size_t> gone;  // the steps between
  std::string activation;
  std::vector<float> parameters = {};
};

bool is_fused(const Step& step) { return is(step, "FusedConv", ops::kMicrosoft); }

bool is_float_conv(const Edit& edit, const Step& step) {
  if (!is(step, "Conv") && !is_fused(step)) return false;
  if (step.inputs.size() < 2 || step.inputs[1] < 0) return false;
  if (edit.variable_type(step.inputs[1]) == ElementType::float32) return true;
  const Array* w = edit.constant(step.inputs[1]);
  return w && w->type() == ElementType::float32;
}

// An integer convolution with float output.
bool is_integer_conv(const Step& step) { return is(step, "ConvIntegerToFloat", ops::kAnybit); }

bool has_activation(const Step& step) { return step.node->attribute("activation") != nullptr; }

// An activation that is one node.
std::optional<Found> simple(const Edit& edit, const Program& program, std::size_t at) {
  auto found = activation_of_step(edit, program.steps[at]);
  if (!found) return std::nullopt;
  return Found{at, {}, std::move(found->name), std::move(found->parameters)};
}

// The consumers of a slot, in the order in which they run.
std::vector<std::size_t> steps_using(const Edit& edit, int slot) {
  std::vector<std::size_t> steps;
  for (const int step : edit.consumers(slot)) {
    if (step >= 0) steps.push_back(static_cast<std::size_t>(step));
  }
  std::ranges::sort(steps);
  return steps;
}

// x · Sigmoid(x), and x · HardSigmoid(x) with the slope of HardSwish: the value must have exactly these two
// consumers.
std::optional<Found> gate(const Edit& edit, const Program& program, std::size_t conv) {
  const int value = program.steps[conv].outputs[0];
  if (edit.uses(value) != 2) return std::nullopt;
  for (const std::size_t i : steps_using(edit, value)) {
    const Step& step = program.steps[i];
    if (step.inputs.empty() || step.inputs[0] != value) continue;
    const bool hard = is(step, "HardSigmoid") && std::abs(real_of(step, "alpha", 0.2f) - 1.0f / 6) < 1e-6f &&
                      real_of(step, "beta", 0.5f) == 0.5f;
    if (!is(step, "Sigmoid") && !hard) continue;
    const int product = edit.only_consumer(step.outputs[0]);
    if (product < 0 || !is(program.steps[static_cast<std::size_t>(product)], "Mul")) return std::nullopt;
    const Step& mul = program.steps[static_cast<std::size_t>(product)];
    const int other = mul.inputs[0] == step.outputs[0] ? mul.inputs[1] : mul.inputs[0];
    if (other != value) return std::nullopt;
    return Found{static_cast<std::size_t>(product), {i}, hard ? "HardSwish" : "Silu"};
  }
  return std::nullopt;
}

// The step that is the only consumer of step `from`, if it has that operator.
std::optional<std::size_t> follows(const Edit& edit, const Program& program, std::size_t from,
                                   std::string_view op) {
  const int next = edit.only_consumer(program.steps[from].outputs[0]);
  if (next < 0 || !is(program.steps[static_cast<std::size_t>(next)], op)) return std::nullopt;
  return static_cast<std::size_t>(next);
}

// Whether one of two inputs is the value and the other the constant.
bool is_pair(const Edit& edit, const Step& step, int value, float wanted) {
  if (step.version < 7 || step.inputs.size() != 2) return false;
  const std::size_t other = step.inputs[0] == value ? 1 : 0;
  return step.inputs[1 - other] == value && step.inputs[other] >= 0 &&
         constant_number(edit, step, other, 0) == wanted && edit.constant(step.inputs[other])->rank() <= 1;
}

// x · Clip(x + 3, 0, 6) / 6: HardSwish as written by exporters without the operator.
std::optional<Found> spelled_hard_swish(const Edit& edit, const Program& program, std::size_t conv) {
  const int value = program.steps[conv].outputs[0];
  if (edit.uses(value) != 2) return std::nullopt;
  for (const std::size_t i : steps_using(edit, value)) {
    const Step& add = program.steps[i];
    if (!is(add, "Add") || !is_pair(edit, add, value, 3.0f)) continue;
    const auto clip = follows(edit, program, i, "Clip");
    if (!clip || clip_bounds(edit, program.steps[*clip]) != std::vector{0.0f, 6.0f}) return std::nullopt;
    const auto mul = follows(edit, program, *clip, "Mul");
    if (!mul) return std::nullopt;
    const std::vector<int>& factors = program.steps[*mul].inputs;
    if (std::ranges::count(factors, value) != 1) return std::nullopt;
    const auto div = follows(edit, program, *mul, "Div");
    const int product = program.steps[*mul].outputs[0];
    if (!div || program.steps[*div].inputs[0] != product ||
        !is_pair(edit, program.steps[*div], product, 6.0f))
      return std::nullopt;
    return Found{*div, {i, *clip, *mul}, "HardSwish"};
  }
  return std::nullopt;
}

graph::Node fused_node(const Step& conv) {
  return graph::as_operator(*conv.node, "FusedConv", graph::kMicrosoft);
}

Result<void> fuse_activations(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const bool integer = is_integer_conv(program.steps[i]);
    if (edit.removed(i) || !(integer || is_float_conv(edit, program.steps[i])) ||
        has_activation(program.steps[i]))
      continue;
    const int next = edit.only_consumer(program.steps[i].outputs[0]);
    auto found = next >= 0 ? simple(edit, program, static_cast<std::size_t>(next)) : gate(edit, program, i);
    if (!found && next < 0) found = spelled_hard_swish(edit, program, i);
    if (!found) continue;
    graph::Node node = integer ? *program.steps[i].node : fused_node(program.steps[i]);
    set_attribute(node, "activation", found->activation);
    if (!found->parameters.empty()) set_attribute(node, "activation_params", found->parameters);
    for (const std::size_t step : found->gone) edit.remove(step);
    TRY(edit.replace(i, found->last, std::move(node), program.steps[i].inputs));
  }
  edit.done();
  return {};
}

// Convolution + tensor. Shapes are unknown here: if they differ, the fused operator broadcasts.
Result<void> fuse_sums(Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& add = program.steps[i];
    if (edit.removed(i) || !is(add, "Add") || add.version < 7 || add.inputs[0] == add.inputs[1]) continue;
    // Of two convolutions the later one takes the sum: the other's result exists by then.
    int best = -1, other = -1;
    for (const std::size_t side : {0u, 1u}) {
      const int from = edit.producer(add.inputs[side]);
      const bool fits = from > best && edit.only_consumer(add.inputs[side]) >= 0 &&
                        is(program.steps[static_cast<std::size_t>(from)], "Conv") &&
                        is_float_conv(edit, program.steps[static_cast<std::size_t>(from)]);
      if (!fits || edit.constant(add.inputs[1 - side])) continue;
      best = from;
      other = add.inputs[1 - side];
    }
    if (best < 0) continue;
    const Step& conv = program.steps[static_cast<std::size_t>(best)];
    std::vector<int> inputs = conv.inputs;
    inputs.resize(3, -1);
    inputs.push_back(other);
    TRY(edit.replace(static_cast<std::size_t>(best), i, fused_node(conv), std::move(inputs)));
  }
  edit.done();
  return {};
}

Result<void> run(Program& program, const Resources&) {
  TRY(fuse_sums(program));
  return fuse_activations(program);
}

}  // namespace

std::span<const Descriptor> fuse_activation_descriptors() {
  static const Descriptor all[] = {{.name = "activation",
                                    .order = 20,
                                    .summary = "Conv, Add of another tensor and activation become FusedConv",
                                    .run = run}};
  return all;
}

}  // namespace anybit::runtime
