#include "runtime/context.hpp"

#include <algorithm>
#include <chrono>

#include "base/poison.hpp"
#include "ops/evaluate.hpp"
#include "ops/layout.hpp"
#include "runtime/node_frame.hpp"

namespace anybit::runtime {
namespace {

constexpr std::size_t kPlans = 8;  // plans that are kept, one per set of input shapes

std::int64_t macs_of(const Step& step, std::span<const ops::Datum> slots) {
  const auto values = [&](const std::vector<int>& indices) {
    std::vector<const ops::Datum*> list;
    for (const int index : indices)
      list.push_back(index < 0 ? nullptr : &slots[static_cast<std::size_t>(index)]);
    return list;
  };
  return ops::macs_of({*step.node, *step.descriptor, step.version, values(step.inputs)},
                      values(step.outputs));
}

}  // namespace

using ops::Array;
using ops::Datum;
using ops::Layout;

std::int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Context::Context(const Program& program, std::shared_ptr<ops::Memory> memory, ThreadPool& pool,
                 Variables* variables)
    : program_(program), memory_(std::move(memory)), pool_(pool), variables_(variables) {
  slots_.resize(program.slots.size());
  plain_.resize(program.slots.size());
  buffer_of_slot_.assign(program.slots.size(), -1);
  outputs_.resize(program.outputs.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (program.slots[i].is_constant) slots_[i] = program.slots[i].value;
  }
  std::size_t most = 0, total = 0;
  for (const Step& step : program.steps) {
    first_output_.push_back(total);
    total += step.outputs.size();
    most = std::max(most, step.inputs.size());
  }
  total_outputs_ = static_cast<std::int64_t>(total);
  pointers_.reserve(most);
}

Context::~Context() = default;

Result<void> Context::bind(std::span<const Datum> inputs, Context* outer) {
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const Slot& about = program_.slots[static_cast<std::size_t>(program_.inputs[i])];
    const bool given = i < inputs.size() && !inputs[i].is_nothing();
    slot(program_.inputs[i]) = given ? inputs[i] : about.value;
  }
  if (variables_) {
    values_ = outer ? outer->values_ : variables_->now();
    settled_.assign(program_.steps.size(), false);
    for (std::size_t i = 0; i < program_.variables.size(); ++i)
      slot(program_.variables[i].slot) = *(*values_)[i].array;
  }
  for (const Program::Capture& capture : program_.captures) {
    slot(capture.inner) = *TRY(outer->plain(capture.outer));
  }
  return {};
}

// Finds the plan for the bound types and shapes; starts a recorder if there is none yet.
Result<void> Context::find_plan() {
  const auto matches = [&](const Plan& plan) {
    std::size_t i = 0;
    const auto same = [&](int index) {
      const Datum& value = slot(index);
      return plan.keys[i].type == value.array.type() && plan.keys[i++].dims == value.array.dims();
    };
    return std::ranges::all_of(program_.inputs, same) &&
           std::ranges::all_of(program_.captures, [&](const auto& one) { return same(one.inner); });
  };
  const auto found = std::ranges::find_if(plans_, matches);
  if (found == plans_.end()) {
    plan_ = nullptr;
    recorder_ = std::make_unique<Recorder>();
    Plan& plan = recorder_->plan;
    const auto add_key = [&](int index) {
      plan.keys.push_back({slot(index).array.type(), slot(index).array.dims()});
    };
    for (const int index : program_.inputs) add_key(index);
    for (const Program::Capture& capture : program_.captures) add_key(capture.inner);
    plan.outputs.resize(static_cast<std::size_t>(total_outputs_));
    plan.plain.resize(slots_.size());
    return {};
  }
  plans_.splice(plans_.begin(), plans_, found);
  plan_ = &plans_.front();
  if (plan_->arena > static_cast<std::int64_t>(arena_.capacity())) {
    arena_ = {};
    auto arena = memory_->take(plan_->arena);
    if (!arena.ok()) return std::move(arena).error().within("values between nodes");
    arena_ = std::move(arena).value();
  }
  poison(arena_.data(), arena_.capacity());
  return {};
}

void Context::make_plan() {
  Plan& plan = recorder_->plan;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const int last = program_.slots[i].last_use;
    for (const int buffer : {buffer_of_slot_[i], plan.plain[i].buffer}) {
      if (buffer < 0) continue;
      Buffer& one = plan.buffers[static_cast<std::size_t>(buffer)];
      one.last = std::max({one.last, one.first, last});
    }
  }
  plan.arena = assign_offsets(plan.buffers);
  plan.live = largest_live_set(plan.buffers);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kPlans) plans_.pop_back();
}

std::byte* Context::planned_memory(const Place& place, std::int64_t bytes) {
  const Buffer& buffer = plan_->buffers[static_cast<std::size_t>(place.buffer)];
  if (bytes > buffer.bytes || static_cast<int>(step_) < buffer.first) return nullptr;
  std::byte* const data = arena_.data() + buffer.offset;
  unpoison(data, static_cast<std::size_t>(bytes));
  return data;
}

void Context::poison_ended() {
  if (!kPoisons || !plan_) return;
  for (const Buffer& buffer : plan_->buffers) {
    if (buffer.last == static_cast<int>(step_))
      poison(arena_.data() + buffer.offset, static_cast<std::size_t>(buffer.bytes));
  }
}

Result<const Datum*> Context::plain(int index) {
  Datum& value = slot(index);
  if (!value.is_array() || value.array.layout() == Layout::plain) return &value;
  const auto i = static_cast<std::size_t>(index);
  Datum& copy = plain_[i];
  if (copy.is_array()) return &copy;
  const auto bytes = TRY(ops::array_bytes(value.array.type(), value.array.dims(), Layout::plain));
  const bool planned = plan_ && plan_->plain[i].how == Place::How::arena;
  if (std::byte* data = planned ? planned_memory(plan_->plain[i], bytes) : nullptr) {
    copy = Array::over(value.array.type(), value.array.dims(), data);
  } else {
    copy = TRY(Array::make(*memory_, value.array.type(), value.array.dims()));
    if (recorder_ && !program_.slots[i].escapes) recorder_->plan.plain[i] = recorder_->begin(bytes, step_);
  }
  ops::convert_layout(value.array, copy.array);
  return &copy;
}

void Context::release(int index) {
  const auto i = static_cast<std::size_t>(index);
  if (program_.slots[i].is_constant) return;
  slots_[i].kind = Datum::Kind::nothing;
  if (slots_[i].array.owned()) slots_[i].array = {};
  slots_[i].sequence.reset();
  plain_[i].kind = Datum::Kind::nothing;
  if (plain_[i].array.owned()) plain_[i].array = {};
}

void Context::clear() {
  for (std::size_t i = 0; i < slots_.size(); ++i) release(static_cast<int>(i));
  recorder_.reset();
  more_scratch_.clear();
  values_.reset();
  is_clear_ = true;
}

Result<void> Context::run_step(std::size_t index) {
  const Step& step = program_.steps[index];
  return step.of_variables ? execute_of_variables(index) : execute(index, step.prepared.get());
}

Result<void> Context::execute(std::size_t index, const ops::Prepared* prepared) {
  const Step& step = program_.steps[index];
  step_ = index;
  pointers_.clear();
  const bool any_layout = step.descriptor->layouts == ops::Layouts::each && !step.plain_inputs;
  for (const int input : step.inputs) {
    if (input < 0) {
      pointers_.push_back(nullptr);
      continue;
    }
    const Datum* value = any_layout ? &slot(input) : TRY(plain(input));
    pointers_.push_back(value);
  }
  scratch_used_ = 0;
  NodeFrame frame(*this, step, index, prepared);
  TRY(step.descriptor->run(frame));
  TRY(frame.finish());
  if (!more_scratch_.empty()) {
    more_scratch_.clear();
    scratch_ = {};
    if (!kPoisons) scratch_ = TRY(memory_->take(scratch_used_));
  }
  return {};
}

Error Context::with_inputs(const Step& step, Error error) const {
  // An error with a place names its tensor already, or comes from a graph inside the node.
  if (!error.place.empty()) return error;
  constexpr std::size_t kMost = 6;
  std::string given;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] < 0) continue;
    if (i >= kMost) {
      given += ", …";
      break;
    }
    const auto index = static_cast<std::size_t>(step.inputs[i]);
    given += fmt::format("{}'{}' {}", given.empty() ? "" : ", ", shown(program_.slots[index].name),
                         to_string(slots_[index]));
  }
  if (!given.empty()) error.message += "; given are " + given;
  return error;
}

// Watcher and intervention get no padding: a plain copy, which a later step that needs one finds. What the
// intervention changed in it goes back to the value.
Result<void> Context::show(const Shown& shown, bool may_change) {
  const Datum* value = &slot(shown.slot);
  const bool padded = value->is_array() && value->array.stored() != value->array.count();
  if (padded) value = TRY(plain(shown.slot));
  if (watcher_) TRY(watcher_->see(shown.watched, *value));
  if (!intervention_ || !may_change) return {};
  Datum changed = *value;  // shares its elements
  TRY(intervention_->change(shown.watched, changed));
  if (padded) ops::convert_layout(changed.array, slot(shown.slot).array);
  return {};
}

Result<void> Context::run_steps(Profile* profile) {
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    const std::int64_t start = profile ? now_nanoseconds() : 0;
    const std::size_t entry = profile ? profile->entries.size() : 0;
    if (profile) profile->entries.push_back({&step, start - profile->begin, 0, 0, profile->depth});
    Result<void> done = run_step(i);
    if (!done.ok()) return with_inputs(step, std::move(done).error()).within(step.place);
    // The clock stops before the watcher looks: its time does not count for the node.
    if (profile) {
      profile->entries[entry].nanoseconds = now_nanoseconds() - start;
      profile->entries[entry].macs = macs_of(step, slots_);
    }
    for (std::size_t k = 0; (watcher_ || intervention_) && done.ok() && k < step.shown.size(); ++k)
      done = show(step.shown[k], true);
    if (!done.ok()) return std::move(done).error().within(step.place);
    for (const int slot : step.released) release(slot);
    poison_ended();
  }
  step_ = program_.steps.size();
  return {};
}

Result<std::span<const Datum>> Context::run(std::span<const Datum> inputs, Context* outer, Profile* profile,
                                            Watcher* watcher, Intervention* intervention) {
  if (!is_clear_) clear();
  is_clear_ = false;
  for (Datum& output : outputs_) output = {};
  profile_ = profile;
  watcher_ = watcher;
  intervention_ = intervention;
  step_ = 0;
  std::ranges::fill(buffer_of_slot_, -1);
  TRY(bind(inputs, outer));
  TRY(find_plan());
  Result<void> done;
  for (std::size_t i = 0; watcher && done.ok() && i < program_.shown.size(); ++i) {
    done = show(program_.shown[i], false);
  }
  if (done.ok()) done = run_steps(profile);
  if (!done.ok()) {
    clear();
    return std::move(done).error();
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i] = *TRY(plain(program_.outputs[i]));
    // An input or a constant is passed on as an output: the caller gets a copy of its own.
    const bool is_constant = program_.slots[static_cast<std::size_t>(program_.outputs[i])].is_constant;
    if (outputs_[i].is_array() && (is_constant || !outputs_[i].array.block())) {
      outputs_[i].array = TRY(outputs_[i].array.copy(*memory_));
    }
  }
  if (recorder_) make_plan();
  clear();
  for (std::size_t i = 0; variables_ && !outer && i < outputs_.size(); ++i) {
    // The same for values kept between runs because they depend on variables only.
    if (outputs_[i].array.block().shared()) outputs_[i].array = TRY(outputs_[i].array.copy(*memory_));
  }
  return std::span<const Datum>(outputs_);
}

Result<std::span<const Datum>> Context::call(const Step& step, std::string_view attribute,
                                             std::span<const Datum> inputs) {
  const auto graph =
      std::ranges::find_if(step.graphs, [&](const Step::Inner& one) { return one.attribute == attribute; });
  if (graph == step.graphs.end()) return ops::wrong(fmt::format("the graph '{}' is missing", attribute));
  std::unique_ptr<Context>& inner = inner_[graph->program.get()];
  if (!inner) inner = std::make_unique<Context>(*graph->program, memory_, pool_, variables_);
  if (profile_) ++profile_->depth;
  auto result = inner->run(inputs, this, profile_, watcher_, intervention_);
  if (profile_) --profile_->depth;
  if (!result.ok()) return std::move(result).error().within(attribute);
  return result;
}

}  // namespace anybit::runtime
