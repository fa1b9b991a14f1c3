#include "runtime/fold.hpp"

#include <algorithm>
#include <optional>

#include "runtime/edit.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;

// Results beyond this are computed anew in each run rather than kept, unless their inputs are as large.
constexpr std::int64_t kLargest = std::int64_t{64} << 20;
constexpr std::int64_t kSmall = std::int64_t{64} << 10;  // the same for Fold::small
constexpr std::int64_t kNarrow = 1024;                   // and for a Cast there: weights in a smaller type

// Packed weights: their results are kept, however large, rather than decoded in each run.
bool is_decode(const Step& step) { return is(step, "Decode", graph::kAnybit); }

bool can_fold(const Program& program, const Step& step, Fold what) {
  if (!step.descriptor->pure || !step.graphs.empty()) return false;
  if (what != Fold::all && step.descriptor->name == "DequantizeLinear") return false;
  if (is(step, "TableDecode", graph::kAnybit)) return false;  // made to stay
  if ((what == Fold::all_but_weights || what == Fold::small) && is_decode(step)) return false;
  return std::ranges::all_of(step.inputs, [&](int slot) {
    return slot < 0 || program.slots[static_cast<std::size_t>(slot)].is_constant;
  });
}

std::int64_t bytes_of(const ops::Datum& datum) {
  return datum.is_array() ? static_cast<std::int64_t>(datum.array.byte_count()) : 0;
}

std::optional<std::vector<ops::Datum>> computed(const Program& program, const Step& step,
                                                const Resources& resources) {
  std::vector<const ops::Datum*> inputs;
  for (const int slot : step.inputs)
    inputs.push_back(slot < 0 ? nullptr : &program.slots[static_cast<std::size_t>(slot)].value);
  return ops::evaluate({*step.node, *step.descriptor, step.version, inputs}, resources, step.place);
}

// The results become constants. What fails, or is too large, is left for the run, which can say more.
bool fold(Program& program, const Step& step, Fold what, const Resources& resources) {
  auto outputs = computed(program, step, resources);
  if (!outputs) return false;
  const std::int64_t times = what == Fold::small ? 1 : 4;
  std::int64_t before = what != Fold::small ? kLargest : is(step, "Cast") ? kNarrow : kSmall, after = 0;
  for (const int slot : step.inputs)
    before += slot >= 0 ? times * bytes_of(program.slots[static_cast<std::size_t>(slot)].value) : 0;
  for (const ops::Datum& value : *outputs) {
    if (value.is_array() && value.array.layout() != ops::Layout::plain) return false;
    after += bytes_of(value);
  }
  if (after > before && !is_decode(step)) return false;
  if (is_decode(step)) {
    ++program.decoded.weights;
    program.decoded.bytes += after;
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] < 0) continue;
    Slot& about = program.slots[static_cast<std::size_t>(step.outputs[i])];
    about.is_constant = true;
    about.value = std::move((*outputs)[i]);
  }
  return true;
}

}  // namespace

void fold_constants(Program& program, const Resources& resources, Fold what) {
  std::erase_if(program.steps, [&](const Step& step) {
    return can_fold(program, step, what) && fold(program, step, what, resources);
  });
}

Result<void> prepare_steps(Program& program, ops::Memory& memory) {
  for (Step& step : program.steps) {
    std::vector<const Array*> constants;
    step.constant = std::make_unique<bool[]>(step.inputs.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const Slot* slot =
          step.inputs[i] >= 0 ? &program.slots[static_cast<std::size_t>(step.inputs[i])] : nullptr;
      const bool is_constant = slot && slot->is_constant && slot->value.is_array();
      step.constant[i] = is_constant;
      constants.push_back(is_constant ? &slot->value.array : nullptr);
    }
    if (!step.descriptor->prepare) continue;
    struct NodeSetup final : ops::Setup {
      using Setup::Setup;
      const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
    } setup(*step.node);
    setup.version = step.version;
    setup.constants = constants;
    setup.memory = &memory;
    setup.output_count = static_cast<std::int64_t>(step.outputs.size());
    auto prepared = step.descriptor->prepare(setup);
    if (!prepared.ok()) return std::move(prepared).error().within(step.place);
    step.prepared = std::move(prepared).value();
    if (!step.prepared) continue;
    auto counted = memory.count(step.prepared->bytes());
    if (!counted.ok()) return std::move(counted).error().within("prepared weights").within(step.place);
  }
  return {};
}

}  // namespace anybit::runtime
