#include "runtime/constants.hpp"

#include <algorithm>
#include <optional>

#include "runtime/edit.hpp"
#include "runtime/quantized.hpp"

namespace anybit::runtime {
namespace {

// Larger results are recomputed in each run instead of kept, unless the inputs are as large.
constexpr std::int64_t kLargest = std::int64_t{64} << 20;
constexpr std::int64_t kSmall = std::int64_t{64} << 10;  // the same limit for Fold::small
constexpr std::int64_t kNarrow = 1024;  // and for a Cast under Fold::small: weights in a smaller type

// Packed weights. The decoded result is kept however large it is: decoding in each run would be slower.
bool is_decode(const Step& step) { return is(step, "Decode", graph::kAnybit); }

bool can_fold(const Program& program, const Step& step, Fold what) {
  if (!step.descriptor->pure || !step.graphs.empty() || !step.finish.empty()) return false;
  if (what != Fold::all && dequantizes(step)) return false;
  if (is(step, "TableDecode", graph::kAnybit)) return false;  // must stay in the program
  if (what == Fold::small && is_decode(step)) return false;
  return std::ranges::all_of(step.inputs, [&](int slot) {
    return slot < 0 || program.slots[static_cast<std::size_t>(slot)].is_constant;
  });
}

std::int64_t bytes_of(const ops::Datum& datum) {
  return datum.is_array() ? static_cast<std::int64_t>(datum.array.byte_count()) : 0;
}

bool fold(Program& program, const Step& step, Fold what, const Resources& resources) {
  std::vector<const ops::Datum*> inputs;
  std::int64_t most = what != Fold::small ? kLargest : is(step, "Cast") ? kNarrow : kSmall;
  for (const int slot : step.inputs) {
    inputs.push_back(slot < 0 ? nullptr : &program.slots[static_cast<std::size_t>(slot)].value);
    most += inputs.back() ? (what == Fold::small ? 1 : 4) * bytes_of(*inputs.back()) : 0;
  }
  auto outputs = ops::evaluate({*step.node, *step.descriptor, step.version, inputs}, resources, step.place);
  if (!outputs) return false;
  std::int64_t bytes = 0;
  for (const ops::Datum& value : *outputs) {
    if (value.is_array() && value.array.layout() != ops::Layout::plain) return false;
    bytes += bytes_of(value);
  }
  if (bytes > most && !is_decode(step)) return false;
  if (is_decode(step)) {
    ++program.decoded.weights;
    program.decoded.bytes += bytes;
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] < 0) continue;
    Slot& slot = program.slots[static_cast<std::size_t>(step.outputs[i])];
    slot.is_constant = true;
    slot.value = std::move((*outputs)[i]);
  }
  return true;
}

template <Fold what>
Result<void> run(Program& program, const Resources& resources) {
  fold_constants(program, resources, what);
  return {};
}

}  // namespace

void fold_constants(Program& program, const Resources& resources, Fold what) {
  std::erase_if(program.steps, [&](const Step& step) {
    return can_fold(program, step, what) && fold(program, step, what, resources);
  });
}

std::span<const Descriptor> constants_descriptors() {
  static const Descriptor all[] = {
      {.name = "decode",
       .order = 8,
       .summary = "packed weights without a kernel for them are decoded once",
       .run = run<Fold::all_but_dequantized>,
       .whom = For::running},
      {.name = "weights",
       .order = 14,
       .summary = "quantized weights without a kernel for them are dequantized once",
       .run = run<Fold::all>,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
