#include "runtime/prepare_step.hpp"

#include <algorithm>

namespace anybit::runtime {

using ops::Array;

Result<std::shared_ptr<const ops::Prepared>> prepare_step(const Step& step,
                                                          std::span<const Array* const> constants,
                                                          ops::Memory& memory) {
  struct NodeSetup final : ops::Setup {
    using Setup::Setup;
    const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  } setup(*step.node);
  setup.version = step.version;
  setup.constants = constants;
  setup.memory = &memory;
  setup.output_count = static_cast<std::int64_t>(step.outputs.size());
  return step.descriptor->prepare(setup);
}

Result<void> prepare_steps(Program& program, ops::Memory& memory) {
  for (Step& step : program.steps) {
    std::vector<const Array*> constants;
    bool of_variables = false;
    step.constant = std::make_unique<bool[]>(step.inputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Slot* slot =
          step.inputs[i] >= 0 ? &program.slots[static_cast<std::size_t>(step.inputs[i])] : nullptr;
      const bool is_constant = slot && slot->is_constant && slot->value.is_array();
      of_variables = of_variables || (slot && slot->is_variable);
      step.constant[i] = is_constant;
      constants.push_back(is_constant ? &slot->value.array : nullptr);
    }
    if (!step.descriptor->prepare || of_variables) continue;
    auto prepared = prepare_step(step, constants, memory);
    if (!prepared.ok()) return std::move(prepared).error().within(step.place);
    step.prepared = std::move(prepared).value();
    if (!step.prepared) continue;
    auto counted = memory.count(step.prepared->bytes());
    if (!counted.ok()) return std::move(counted).error().within("prepared weights").within(step.place);
  }
  return {};
}

}  // namespace anybit::runtime
