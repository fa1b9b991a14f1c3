#include "runtime/context.hpp"

#include <algorithm>
#include <chrono>

#include "ops/layout.hpp"
#include "runtime/macs.hpp"
#include "runtime/node_frame.hpp"

namespace anybit::runtime {
namespace {

constexpr std::size_t kPlans = 8;  // shapes that are remembered

}  // namespace

using ops::Array;
using ops::Datum;
using ops::Layout;

std::int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Context::Context(const Program& program, std::shared_ptr<ops::Memory> memory, ThreadPool& pool)
    : program_(program), memory_(std::move(memory)), pool_(pool) {
  slots_.resize(program.slots.size());
  plain_.resize(program.slots.size());
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
  for (const Program::Capture& capture : program_.captures) {
    slot(capture.inner) = *TRY(outer->plain(capture.outer));
  }
  return {};
}

// The plan for the types and shapes that were bound; a recorder if there is none yet.
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
    const auto add_key = [&](int index) {
      recorder_->keys.push_back({slot(index).array.type(), slot(index).array.dims()});
    };
    for (const int index : program_.inputs) add_key(index);
    for (const Program::Capture& capture : program_.captures) add_key(capture.inner);
    recorder_->buffer_of_slot.assign(slots_.size(), -1);
    recorder_->outputs.resize(static_cast<std::size_t>(total_outputs_));
    recorder_->plain.resize(slots_.size());
    recorder_->output_buffers.assign(static_cast<std::size_t>(total_outputs_), -1);
    recorder_->plain_buffers.assign(slots_.size(), -1);
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
  return {};
}

void Context::make_plan() {
  Recorder& record = *recorder_;
  Plan plan;
  plan.keys = std::move(record.keys);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const int last = program_.slots[i].last_use;
    for (const int buffer : {record.buffer_of_slot[i], record.plain_buffers[i]}) {
      if (buffer < 0) continue;
      Buffer& one = record.buffers[static_cast<std::size_t>(buffer)];
      one.last = std::max({one.last, one.first, last});
    }
  }
  plan.arena = assign_offsets(record.buffers);
  plan.live = largest_live_set(record.buffers);
  const auto place = [&](std::vector<Place>& places, const std::vector<int>& buffers) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (buffers[i] >= 0) places[i].offset = record.buffers[static_cast<std::size_t>(buffers[i])].offset;
    }
    return std::move(places);
  };
  plan.outputs = place(record.outputs, record.output_buffers);
  plan.plain = place(record.plain, record.plain_buffers);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kPlans) plans_.pop_back();
}

Result<const Datum*> Context::plain(int index) {
  Datum& value = slot(index);
  if (!value.is_array() || value.array.layout() == Layout::plain) return &value;
  const auto i = static_cast<std::size_t>(index);
  Datum& copy = plain_[i];
  if (copy.is_array()) return &copy;
  const auto bytes = TRY(ops::array_bytes(value.array.type(), value.array.dims(), Layout::plain));
  const Place* planned = plan_ ? &plan_->plain[i] : nullptr;
  if (planned && planned->how == Place::How::arena && bytes <= planned->bytes) {
    copy = Array::over(value.array.type(), value.array.dims(), arena_.data() + planned->offset);
  } else {
    copy = TRY(Array::make(*memory_, value.array.type(), value.array.dims()));
  }
  ops::relay(value.array, copy.array);
  return &copy;
}

Result<const Datum*> Context::plain_for(int index, std::size_t step) {
  const auto i = static_cast<std::size_t>(index);
  const bool fresh = recorder_ && !plain_[i].is_array();
  const Datum* value = TRY(plain(index));
  if (fresh && value == &plain_[i]) {
    const auto bytes = static_cast<std::int64_t>(value->array.byte_count());
    recorder_->plain[i] = {Place::How::arena, 0, bytes};
    recorder_->plain_buffers[i] = static_cast<int>(recorder_->buffers.size());
    recorder_->buffers.push_back({.bytes = bytes, .first = static_cast<int>(step)});
  }
  return value;
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
}

Result<void> Context::run_step(std::size_t index) {
  const Step& step = program_.steps[index];
  pointers_.clear();
  const bool any_layout = step.descriptor->layouts == ops::Layouts::each && !step.plain_inputs;
  for (const int input : step.inputs) {
    if (input < 0) {
      pointers_.push_back(nullptr);
      continue;
    }
    const Datum* value = any_layout ? &slot(input) : TRY(plain_for(input, index));
    pointers_.push_back(value);
  }
  scratch_used_ = 0;
  NodeFrame frame(*this, step, index);
  TRY(step.descriptor->run(frame));
  if (!more_scratch_.empty()) {
    more_scratch_.clear();
    scratch_ = {};
    scratch_ = TRY(memory_->take(scratch_used_));
  }
  return {};
}

Error Context::with_inputs(const Step& step, Error error) const {
  // An error that has a place names its tensor already, or comes from a graph inside the node.
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

// Padding is not for the watcher; whoever needs the plain copy later finds it.
Result<void> Context::show(const Shown& shown, std::size_t step) {
  const Datum* value = &slot(shown.slot);
  const bool padded = value->is_array() && value->array.stored() != value->array.count();
  if (padded) value = TRY(plain_for(shown.slot, step));
  return watcher_->see(shown.watched, *value);
}

Result<void> Context::run_steps(Profile* profile) {
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    const std::int64_t start = profile ? now_nanoseconds() : 0;
    const std::size_t entry = profile ? profile->entries.size() : 0;
    if (profile) profile->entries.push_back({&step, start - profile->begin, 0, 0, profile->depth});
    Result<void> done = run_step(i);
    if (!done.ok()) return with_inputs(step, std::move(done).error()).within(step.place);
    // Before the watcher looks: that is no part of the node.
    if (profile) {
      profile->entries[entry].nanoseconds = now_nanoseconds() - start;
      profile->entries[entry].macs = macs_of(step, slots_);
    }
    for (std::size_t k = 0; watcher_ && done.ok() && k < step.shown.size(); ++k)
      done = show(step.shown[k], i);
    if (!done.ok()) return std::move(done).error().within(step.place);
    for (const int slot : step.released) release(slot);
  }
  return {};
}

Result<std::span<const Datum>> Context::run(std::span<const Datum> inputs, Context* outer, Profile* profile,
                                            Watcher* watcher) {
  clear();
  for (Datum& output : outputs_) output = {};
  profile_ = profile;
  watcher_ = watcher;
  TRY(bind(inputs, outer));
  TRY(find_plan());
  Result<void> done;
  for (std::size_t i = 0; watcher && done.ok() && i < program_.shown.size(); ++i) {
    done = show(program_.shown[i], 0);
  }
  if (done.ok()) done = run_steps(profile);
  if (!done.ok()) {
    clear();
    return std::move(done).error();
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i] = *TRY(plain(program_.outputs[i]));
    if (outputs_[i].is_array() && !outputs_[i].array.block()) {  // an input or a constant passed on
      outputs_[i].array = TRY(outputs_[i].array.copy(*memory_));
    }
  }
  if (recorder_) make_plan();
  clear();
  return std::span<const Datum>(outputs_);
}

Result<std::span<const Datum>> Context::call(const Step& step, std::string_view attribute,
                                             std::span<const Datum> inputs) {
  const auto graph =
      std::ranges::find_if(step.graphs, [&](const Step::Inner& one) { return one.attribute == attribute; });
  if (graph == step.graphs.end()) return ops::wrong(fmt::format("the graph '{}' is missing", attribute));
  auto found =
      std::ranges::find_if(inner_, [&](const auto& one) { return one.first == graph->program.get(); });
  if (found == inner_.end()) {
    inner_.emplace_back(graph->program.get(), std::make_unique<Context>(*graph->program, memory_, pool_));
    found = std::prev(inner_.end());
  }
  if (profile_) ++profile_->depth;
  auto result = found->second->run(inputs, this, profile_, watcher_);
  if (profile_) --profile_->depth;
  if (!result.ok()) return std::move(result).error().within(attribute);
  return result;
}

}  // namespace anybit::runtime
