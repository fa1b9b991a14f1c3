// MatMulInteger → Cast → Mul by the scales (→ Add of a bias): what dynamic quantization writes for a matrix
// product becomes MatMulIntegerToFloat, which scales while the sums are in registers.
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;

const Step* at(const Program& program, int index) {
  return index < 0 ? nullptr : &program.steps[static_cast<std::size_t>(index)];
}

// The other input of a node of two; -1 if `slot` is neither or both.
int other_input(const Step& step, int slot) {
  if (step.inputs.size() != 2 || step.inputs[0] == step.inputs[1]) return -1;
  if (step.inputs[0] == slot) return step.inputs[1];
  return step.inputs[1] == slot ? step.inputs[0] : -1;
}

// The chain behind a MatMulInteger.
struct Chain {
  int cast, scale_by, scales;     // steps; `scales` multiplies the two scales
  int input_scale, weight_scale;  // slots
};

std::optional<Chain> chain_behind(const Program& program, const Edit& edit, const Step& product) {
  Chain chain{};
  chain.cast = edit.only_consumer(product.outputs[0]);
  if (chain.cast < 0 || !casts_to(*at(program, chain.cast), ElementType::float32)) return std::nullopt;
  const int real = at(program, chain.cast)->outputs[0];
  chain.scale_by = edit.only_consumer(real);
  if (chain.scale_by < 0 || !is(*at(program, chain.scale_by), "Mul")) return std::nullopt;
  chain.scales = edit.producer(other_input(*at(program, chain.scale_by), real));
  const Step* scales = at(program, chain.scales);
  if (!scales || !is(*scales, "Mul") || scales->inputs.size() != 2) return std::nullopt;
  // One is the scale that the input was quantized with, the other is that of the weights.
  for (const bool swapped : {false, true}) {
    chain.input_scale = scales->inputs[swapped ? 1 : 0];
    chain.weight_scale = scales->inputs[swapped ? 0 : 1];
    const Step* quantizer = at(program, edit.producer(chain.input_scale));
    const ops::Array* weights = edit.constant(chain.weight_scale);
    if (quantizer && is(*quantizer, "DynamicQuantizeLinear") && weights && weights->rank() <= 1 &&
        quantizer->outputs[0] == product.inputs[0]) {
      return chain;
    }
  }
  return std::nullopt;
}

Result<void> run(Program& program, const Resources&) {
  const ops::Descriptor* fused = ops::find(ops::kMicrosoft, "MatMulIntegerToFloat");
  if (!fused || !fused->run) return {};
  Edit edit(program);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (edit.removed(i) || !is(program.steps[i], "MatMulInteger")) continue;
    const Step& product = program.steps[i];
    const auto chain = chain_behind(program, edit, product);
    const ops::Array* matrix = edit.constant(product.inputs[1]);
    if (!chain || !matrix || matrix->rank() != 2) continue;
    const auto zero = [&](std::size_t k) { return product.inputs.size() > k ? product.inputs[k] : -1; };
    std::vector<int> inputs{product.inputs[0],   product.inputs[1], chain->input_scale,
                            chain->weight_scale, zero(2),           zero(3)};
    // A bias, if that is all that follows.
    auto last = static_cast<std::size_t>(chain->scale_by);
    const int next = edit.only_consumer(program.steps[last].outputs[0]);
    const Step* adds = at(program, next);
    const int bias = adds && is(*adds, "Add") ? other_input(*adds, program.steps[last].outputs[0]) : -1;
    const ops::Array* values = edit.constant(bias);
    const bool biased = values && values->type() == ElementType::float32 && values->rank() == 1 &&
                        values->count() == matrix->dim(1);
    graph::Node node = *product.node;
    node.op_type = graph::Text("MatMulIntegerToFloat");
    node.domain = graph::Text(std::string(ops::kMicrosoft));
    edit.remove(static_cast<std::size_t>(chain->cast));
    if (biased) {
      inputs.push_back(bias);
      edit.remove(last);
      last = static_cast<std::size_t>(next);
    }
    TRY(edit.replace(i, last, std::move(node), std::move(inputs)));
  }
  edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_dynamic_descriptors() {
  static const Descriptor all[] = {
      {.name = "dynamic", .order = 15, .summary = "MatMulInteger, Cast and Mul become one", .run = run}};
  return all;
}

}  // namespace anybit::runtime
