// DequantizeLinear → operators on single elements → QuantizeLinear: with 8 bits there are 256 inputs, so the
// whole chain is a table, made by running it once on all of them. Exact.
#include <algorithm>

#include "runtime/context.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

constexpr std::string_view kElementwise[] = {"Relu",        "Clip",
                                             "LeakyRelu",   "Elu",
                                             "Selu",        "Celu",
                                             "HardSigmoid", "HardSwish",
                                             "Sigmoid",     "Tanh",
                                             "Gelu",        "Softplus",
                                             "Softsign",    "Mish",
                                             "Swish",       "Exp",
                                             "Log",         "Sqrt",
                                             "Erf",         "Abs",
                                             "Neg",         "Floor",
                                             "Ceil",        "Round",
                                             "Reciprocal",  "ThresholdedRelu",
                                             "Shrink",      "Sin",
                                             "Cos"};

bool is_elementwise(const Edit& edit, const Step& step) {
  if (std::ranges::find(kElementwise, step.descriptor->name) == std::end(kElementwise) ||
      !step.descriptor->domain.empty())
    return false;
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    if (step.inputs[i] >= 0 && !edit.constant(step.inputs[i])) return false;
  }
  return true;
}

// From a DequantizeLinear to the QuantizeLinear at its end; empty if there is none.
std::vector<std::size_t> chain_from(const Edit& edit, const Program& program, std::size_t first) {
  std::vector<std::size_t> chain{first};
  int slot = program.steps[first].outputs[0];
  for (;;) {
    const int next = edit.only_consumer(slot);
    if (next < 0 || program.steps[static_cast<std::size_t>(next)].inputs[0] != slot) return {};
    chain.push_back(static_cast<std::size_t>(next));
    const Step& step = program.steps[static_cast<std::size_t>(next)];
    if (is(step, "QuantizeLinear")) return chain.size() > 2 ? chain : std::vector<std::size_t>();
    if (!is_elementwise(edit, step)) return {};
    slot = step.outputs[0];
  }
}

// All codes in the order of their bytes: 0, 1, … 255.
Result<Array> all_codes(ops::Memory& memory, ElementType type) {
  Array codes = TRY(Array::make(memory, type, {256}));
  for (int i = 0; i < 256; ++i) codes.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return codes;
}

Result<Array> table_of(const Program& program, const std::vector<std::size_t>& chain, ElementType type,
                       const Resources& resources) {
  Context context(program, resources.memory, resources.pool);
  context.slot(program.steps[chain[0]].inputs[0]) = TRY(all_codes(*resources.memory, type));
  for (const std::size_t index : chain) TRY(context.run_step(index));
  return context.slot(program.steps[chain.back()].outputs[0]).array;
}

Result<void> run(Program& program, const Resources& resources) {
  Qdq qdq(program, resources);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i) || !is(program.steps[i], "DequantizeLinear")) continue;
    const auto x = qdq.activation(program.steps[i].outputs[0]);
    const auto chain = x ? chain_from(qdq.edit, program, i) : std::vector<std::size_t>();
    const auto y = chain.empty() ? std::nullopt : qdq.from_quantizer(chain.back());
    if (!y) continue;
    auto table = table_of(program, chain, qdq.type_of(x->zero_point), resources);
    if (!table.ok()) continue;  // the run itself will say what is wrong
    graph::Node node = *program.steps[chain[1]].node;
    node.op_type = graph::Text("LookUp");
    node.domain = graph::Text("ai.anybit");
    node.attributes.clear();
    set_attribute(node, "of", program.steps[chain[1]].node->op_type.str());
    const int held = qdq.edit.add_constant(std::move(table).value());
    for (std::size_t k = 1; k + 1 < chain.size(); ++k) qdq.edit.remove(chain[k]);
    TRY(qdq.edit.replace(chain.back(), std::move(node), {x->value, held}));
  }
  qdq.edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_qdq_table_descriptors() {
  static const Descriptor all[] = {{.name = "qdq-table",
                                    .order = 12,
                                    .summary = "activations between 8-bit integers become tables",
                                    .run = run}};
  return all;
}

}  // namespace anybit::runtime
