// MatMulInteger or ConvInteger → Cast → Mul by the scales (→ Add of a bias), as dynamic quantization writes a
// linear operator, becomes MatMulIntegerToFloat or ConvIntegerToFloat, which scale the accumulators while
// they are in registers.
#include "ops/quantized/packed_tensor.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::Dims;
using ops::ElementType;

const Step* at(const Program& program, int index) {
  return index < 0 ? nullptr : &program.steps[static_cast<std::size_t>(index)];
}

// The other of two inputs; -1 if `slot` is neither or both.
int other_input(const Step& step, int slot) {
  if (step.inputs.size() != 2 || step.inputs[0] == step.inputs[1]) return -1;
  if (step.inputs[0] == slot) return step.inputs[1];
  return step.inputs[1] == slot ? step.inputs[0] : -1;
}

// The channels of an integer operator's result.
struct LinearShape {
  std::int64_t channels;  // columns of a matrix
  std::size_t behind;     // axes of the result after the channel axis
};

std::optional<LinearShape> matmul_shape(const Array& weights) {
  if (weights.rank() != 2) return std::nullopt;
  return LinearShape{weights.dim(1), 0};
}
std::optional<LinearShape> conv_shape(const Array& weights) {
  if (weights.rank() < 3) return std::nullopt;
  return LinearShape{weights.dim(0), weights.rank() - 2};
}

// The constant as one number or one number per channel, with the dims that the fused operators expect; empty
// if it broadcasts over the result in another way.
std::optional<Array> by_channel(const Array* constant, const LinearShape& shape) {
  if (!constant || constant->type() != ElementType::float32) return std::nullopt;
  const std::size_t rank = constant->rank();
  if (constant->count() == 1 && rank <= shape.behind + 1) return constant->reshaped(Dims());
  const bool along = rank > shape.behind && rank <= shape.behind + 2 && constant->count() == shape.channels &&
                     constant->dim(rank - shape.behind - 1) == shape.channels;
  return along ? std::optional(constant->reshaped(Dims{shape.channels})) : std::nullopt;
}

// The steps after the integer operator.
struct Chain {
  int cast, scale_by, scales;     // steps; `scales` multiplies the two scales
  int input_scale, weight_scale;  // slots
};

std::optional<Chain> chain_behind(const Program& program, const Edit& edit, const Step& step,
                                  const LinearShape& shape) {
  Chain chain{};
  chain.cast = edit.only_consumer(step.outputs[0]);
  if (chain.cast < 0 || !casts_to(*at(program, chain.cast), ElementType::float32)) return std::nullopt;
  const int real = at(program, chain.cast)->outputs[0];
  chain.scale_by = edit.only_consumer(real);
  if (chain.scale_by < 0 || !is(*at(program, chain.scale_by), "Mul")) return std::nullopt;
  chain.scales = edit.producer(other_input(*at(program, chain.scale_by), real));
  const Step* scales = at(program, chain.scales);
  if (!scales || !is(*scales, "Mul") || scales->inputs.size() != 2) return std::nullopt;
  // One factor is the scale of the quantized input, the other that of the weights.
  for (const bool swapped : {false, true}) {
    chain.input_scale = scales->inputs[swapped ? 1 : 0];
    chain.weight_scale = scales->inputs[swapped ? 0 : 1];
    const Step* quantizer = at(program, edit.producer(chain.input_scale));
    if (quantizer && is(*quantizer, "DynamicQuantizeLinear") &&
        by_channel(edit.constant(chain.weight_scale), shape) && quantizer->outputs[0] == step.inputs[0]) {
      return chain;
    }
  }
  return std::nullopt;
}

// An integer operator and its fused form with float output.
struct Rule {
  std::string_view integer_op, real, domain;
  std::optional<LinearShape> (*shape)(const Array& weights);
};

Result<void> follow(const Rule& rule, Program& program) {
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (edit.removed(i) || !is(program.steps[i], rule.integer_op)) continue;
    const Step& step = program.steps[i];
    const Array* weights = edit.constant(step.inputs[1]);
    const auto shape = weights ? rule.shape(*weights) : std::nullopt;
    const auto chain = shape ? chain_behind(program, edit, step, *shape) : std::nullopt;
    if (!chain) continue;
    const auto zero = [&](std::size_t k) { return step.inputs.size() > k ? step.inputs[k] : -1; };
    const int scale = edit.add_constant(*by_channel(edit.constant(chain->weight_scale), *shape));
    std::vector<int> inputs{step.inputs[0], step.inputs[1], chain->input_scale, scale, zero(2), zero(3)};
    // The bias, if the next step is an Add of one.
    auto last = static_cast<std::size_t>(chain->scale_by);
    const int next = edit.only_consumer(program.steps[last].outputs[0]);
    const Step* adds = at(program, next);
    const int added = adds && is(*adds, "Add") ? other_input(*adds, program.steps[last].outputs[0]) : -1;
    const auto bias = by_channel(edit.constant(added), *shape);
    graph::Node node = graph::as_operator(*step.node, rule.real, rule.domain);
    edit.remove(static_cast<std::size_t>(chain->cast));
    if (bias && bias->rank() == 1) {
      inputs.push_back(edit.add_constant(*bias));
      edit.remove(last);
      last = static_cast<std::size_t>(next);
    }
    TRY(edit.replace(i, last, std::move(node), std::move(inputs)));
  }
  edit.done();
  return {};
}

Result<void> run(Program& program, const Resources&) {
  return follow({"MatMulInteger", "MatMulIntegerToFloat", ops::kMicrosoft, matmul_shape}, program);
}
Result<void> run_conv(Program& program, const Resources&) {
  return follow({"ConvInteger", "ConvIntegerToFloat", ops::kAnybit, conv_shape}, program);
}

}  // namespace

std::span<const Descriptor> fuse_dynamic_descriptors() {
  static const Descriptor all[] = {{.name = "dynamic",
                                    .order = 15,
                                    .summary = "MatMulInteger, Cast and Mul become MatMulIntegerToFloat",
                                    .run = run},
                                   {.name = "dynamic-conv",
                                    .order = 15,
                                    .summary = "ConvInteger, Cast and Mul become ConvIntegerToFloat",
                                    .run = run_conv,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
