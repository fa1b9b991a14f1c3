// Steps that depend on variables: their results are kept until one of these variables is written.
#include <algorithm>

#include "runtime/context.hpp"
#include "runtime/prepare_step.hpp"

namespace anybit::runtime {
namespace {

using ops::Datum;

// Larger results are recomputed in each run instead of kept, unless the inputs are as large: as for constants
// (runtime/constants.cpp).
constexpr std::int64_t kLargest = std::int64_t{64} << 20;
constexpr std::int64_t kTimes = 4;

std::int64_t bytes_of(const Datum& datum) {
  return datum.is_array() ? static_cast<std::int64_t>(datum.array.byte_count()) : 0;
}

}  // namespace

Result<void> Context::execute_of_variables(std::size_t index) {
  const Step& step = program_.steps[index];
  if (step.of_variables->whole) {
    // Otherwise it is run on demand, by the steps that need its outputs.
    return step.of_variables->needed ? make_settled(index) : Result<void>();
  }
  const auto made = TRY(prepared_of(step));
  return execute(index, made->prepared.get());
}

// An explicit stack, not recursion: chains may be long.
Result<void> Context::make_settled(std::size_t index) {
  std::vector<std::size_t> wanted{index};
  while (!wanted.empty()) {
    const std::size_t at = wanted.back();
    const Step& step = program_.steps[at];
    if (settled_[at] || take_made(step)) {
      settled_[at] = true;
      wanted.pop_back();
      continue;
    }
    const std::size_t before = wanted.size();
    for (const int one : step.of_variables->before) {
      if (!settled_[static_cast<std::size_t>(one)]) wanted.push_back(static_cast<std::size_t>(one));
    }
    if (wanted.size() > before) continue;
    Result<void> done = execute(at, nullptr);
    if (!done.ok() && at == index) return done;
    if (!done.ok()) return with_inputs(step, std::move(done).error()).within(step.place);
    if (step.of_variables->needed) keep_outputs(step);
    settled_[at] = true;
    wanted.pop_back();
  }
  step_ = index;
  return {};
}

// Whether the outputs were kept from an earlier run; if so, puts them into their slots.
bool Context::take_made(const Step& step) {
  const VariableCache& about = *step.of_variables;
  if (!about.needed) return false;
  const auto made = variables_->made(about.number, Variables::version(about, *values_));
  if (!made) return false;
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] >= 0) slot(step.outputs[i]) = made->values[i];
  }
  return true;
}

void Context::keep_outputs(const Step& step) {
  const VariableCache& about = *step.of_variables;
  auto made = std::make_shared<Variables::Made>();
  made->version = Variables::version(about, *values_);
  std::int64_t most = kLargest, bytes = 0;
  for (const int input : step.inputs) most += input >= 0 ? kTimes * bytes_of(slot(input)) : 0;
  for (const int output : step.outputs) {
    made->values.push_back(output >= 0 ? slot(output) : Datum());
    bytes += bytes_of(made->values.back());
  }
  if (bytes <= most) variables_->keep(about, std::move(made));
}

Result<std::shared_ptr<const Variables::Made>> Context::prepared_of(const Step& step) {
  const VariableCache& about = *step.of_variables;
  const std::uint64_t version = Variables::version(about, *values_);
  if (auto known = variables_->made(about.number, version)) return known;
  auto made = std::make_shared<Variables::Made>();
  made->version = version;
  made->values.resize(step.inputs.size());
  std::vector<const ops::Array*> constants(step.inputs.size());
  bool owned = true;  // otherwise the memory belongs to the plan and is reused soon
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] < 0 || !(step.constant[i] || about.settled[i])) continue;
    const Datum& value = slot(step.inputs[i]);
    if (!value.is_array() || value.array.layout() != ops::Layout::plain) continue;
    owned = owned && (step.constant[i] || value.array.owned());
    made->values[i] = value;
    constants[i] = &made->values[i].array;
  }
  made->prepared = TRY(prepare_step(step, constants, *memory_));
  auto counted = variables_->count(about, made->prepared ? made->prepared->bytes() : 0, *memory_);
  if (!counted.ok()) return std::move(counted).error().within("prepared weights");
  if (owned) variables_->keep(about, made);
  return std::shared_ptr<const Variables::Made>(std::move(made));
}

}  // namespace anybit::runtime
