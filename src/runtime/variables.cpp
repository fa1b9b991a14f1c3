#include "runtime/variables.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "base/try.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::Datum;
using Numbers = std::vector<int>;
using Shared = std::shared_ptr<const Numbers>;  // null: depends on more than variables and constants

template <class Visit>
void each_step_of_variables(const Program& program, const Visit& visit) {
  for (const Step& step : program.steps) {
    if (step.of_variables) visit(*step.of_variables);
    for (const Step::Inner& one : step.graphs) each_step_of_variables(*one.program, visit);
  }
}

Shared joined(const Shared& a, const Shared& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto sum = std::make_shared<Numbers>();
  std::ranges::set_union(*a, *b, std::back_inserter(*sum));
  return sum;
}

// Decides, for one program, which values are settled, and which steps cache results.
class Finder {
 public:
  Finder(Program& program, const Program& outermost, std::vector<Shared> settled, std::size_t& count)
      : program_(program),
        outermost_(outermost),
        settled_(std::move(settled)),
        made_by_(program.slots.size(), -1),
        count_(count) {}

  void run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) look_at(i);
    for (const int slot : program_.outputs) need(slot);
    find_lifetimes();
  }

 private:
  bool is_settled(int slot) const { return slot >= 0 && settled_[static_cast<std::size_t>(slot)]; }
  bool is_fixed(int slot) const {
    return slot < 0 || is_settled(slot) || program_.slots[static_cast<std::size_t>(slot)].is_constant;
  }

  void look_at(std::size_t index) {
    Step& step = program_.steps[index];
    Shared from;
    for (const int slot : step.inputs) {
      if (is_settled(slot)) from = joined(from, settled_[static_cast<std::size_t>(slot)]);
    }
    const bool follows = from && step.descriptor->pure && step.graphs.empty() && step.shown.empty() &&
                         std::ranges::all_of(step.inputs, [&](int slot) { return is_fixed(slot); });
    const bool whole = follows && std::ranges::none_of(*from, [&](int one) {
                         return outermost_.variables[static_cast<std::size_t>(one)].updated;
                       });
    if (whole || (from && step.descriptor->prepare)) add(step, *from, whole);
    for (const int slot : step.outputs) {
      if (!follows || slot < 0) continue;
      settled_[static_cast<std::size_t>(slot)] = from;
      if (!whole) continue;
      made_by_[static_cast<std::size_t>(slot)] = static_cast<int>(index);
      program_.slots[static_cast<std::size_t>(slot)].escapes = true;
    }
    for (const int slot : step.inputs) {
      if (!whole) need(slot);
    }
    for (const int slot : step.captured) need(slot);
    for (const Step::Inner& one : step.graphs) enter(*one.program);
  }

  void add(Step& step, const Numbers& from, bool whole) {
    auto about = std::make_unique<VariableCache>();
    about->number = count_++;
    about->variables = from;
    about->whole = whole;
    for (const int slot : step.inputs) {
      about->settled.push_back(is_settled(slot));
      const int maker = slot >= 0 ? made_by_[static_cast<std::size_t>(slot)] : -1;
      if (whole && maker >= 0) about->before.push_back(maker);
    }
    step.prepared.reset();  // it was prepared without the variables
    step.of_variables = std::move(about);
  }

  void need(int slot) {
    const int maker = slot >= 0 ? made_by_[static_cast<std::size_t>(slot)] : -1;
    if (maker >= 0) program_.steps[static_cast<std::size_t>(maker)].of_variables->needed = true;
  }

  // A whole step may run as late as its last consumer: its inputs must live until then.
  void find_lifetimes() {
    std::vector<int> latest(program_.steps.size());
    std::vector<int> last(program_.slots.size(), -1);
    for (std::size_t i = program_.steps.size(); i-- > 0;) {
      const Step& step = program_.steps[i];
      latest[i] = std::max(latest[i], static_cast<int>(i));
      for (const auto* list : {&step.inputs, &step.captured, &step.outputs}) {
        for (const int slot : *list) {
          if (is_settled(slot))
            last[static_cast<std::size_t>(slot)] = std::max(last[static_cast<std::size_t>(slot)], latest[i]);
        }
      }
      if (!step.of_variables) continue;
      for (const int one : step.of_variables->before) {
        const auto maker = static_cast<std::size_t>(one);
        if (!program_.steps[maker].of_variables->needed) latest[maker] = std::max(latest[maker], latest[i]);
      }
    }
    for (const int slot : program_.outputs)
      last[static_cast<std::size_t>(slot)] = static_cast<int>(program_.steps.size());
    for (Step& step : program_.steps)
      std::erase_if(step.released, [&](int slot) { return is_settled(slot); });
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (!settled_[i] || last[i] < 0) continue;
      program_.slots[i].last_use = last[i];
      if (last[i] < static_cast<int>(program_.steps.size()))
        program_.steps[static_cast<std::size_t>(last[i])].released.push_back(static_cast<int>(i));
    }
  }

  void enter(Program& inner) {
    std::vector<Shared> settled(inner.slots.size());
    for (const Program::Capture& one : inner.captures)
      settled[static_cast<std::size_t>(one.inner)] = settled_[static_cast<std::size_t>(one.outer)];
    Finder(inner, outermost_, std::move(settled), count_).run();
  }

  Program& program_;
  const Program& outermost_;
  std::vector<Shared> settled_;  // by slot: the variables behind it
  std::vector<int> made_by_;     // by slot: the whole step that produces it; -1: none
  std::size_t& count_;
};

}  // namespace

void find_steps_of_variables(Program& program) {
  std::vector<Shared> settled(program.slots.size());
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    settled[static_cast<std::size_t>(program.variables[i].slot)] =
        std::make_shared<const Numbers>(1, static_cast<int>(i));
  }
  if (!program.variables.empty())
    Finder(program, program, std::move(settled), program.steps_of_variables).run();
}

Variables::Variables(std::vector<std::string> names, std::vector<Array> values, const Program& program)
    : names_(std::move(names)), users_(values.size()), kept_(program.steps_of_variables) {
  auto first = std::make_shared<Snapshot>();
  for (Array& one : values) first->push_back({std::make_shared<const Array>(std::move(one)), 0});
  now_ = std::move(first);
  each_step_of_variables(program, [&](const VariableCache& step) {
    for (const int one : step.variables) users_[static_cast<std::size_t>(one)].push_back(step.number);
  });
}

Result<std::size_t> Variables::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  std::string hint = did_you_mean(name, names);
  if (hint.empty() && names.empty()) hint = "name it as a variable when the model is made ready";
  if (hint.empty()) hint = fmt::format("its variables are {}", fmt::join(names, ", "));
  return error_at(Code::not_found, {}, fmt::format("the model has no variable '{}'", shown(name)), hint);
}

Result<void> Variables::check(std::size_t number, const Datum& value) const {
  const std::shared_ptr<const Snapshot> values = now();
  const Array& before = *(*values)[number].array;
  const bool fits =
      value.is_array() && value.array.type() == before.type() && value.array.dims() == before.dims();
  if (fits) return {};
  return error_at(Code::invalid_argument, fmt::format("variable '{}'", shown(names_[number])),
                  fmt::format("{} is given", to_string(value)), fmt::format("it is {}", to_string(before)));
}

std::shared_ptr<const Variables::Snapshot> Variables::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void Variables::write(std::span<Write> writes) {
  std::vector<std::shared_ptr<const Made>> gone;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  auto next = std::make_shared<Snapshot>(*now_);
  ++writes_;
  for (Write& one : writes) {
    (*next)[one.number] = {std::make_shared<const Array>(std::move(one.array)), writes_};
    for (const std::size_t step : users_[one.number]) gone.push_back(std::move(kept_[step].made));
  }
  now_ = std::move(next);
}

std::uint64_t Variables::version(const VariableCache& step, const Snapshot& values) {
  std::uint64_t last = 0;
  for (const int one : step.variables) last = std::max(last, values[static_cast<std::size_t>(one)].version);
  return last;
}

std::shared_ptr<const Variables::Made> Variables::made(std::size_t step, std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  const auto& made = kept_[step].made;
  return made && made->version == version ? made : nullptr;
}

void Variables::keep(const VariableCache& step, std::shared_ptr<const Made> made) {
  const std::lock_guard lock(mutex_);
  if (made->version == version(step, *now_)) kept_[step.number].made = std::move(made);
}

Result<void> Variables::count(const VariableCache& step, std::int64_t bytes, ops::Memory& memory) {
  const std::lock_guard lock(mutex_);
  std::int64_t& counted = kept_[step.number].counted;
  if (bytes <= counted) return {};
  TRY(memory.count(bytes - counted));
  counted = bytes;
  return {};
}

}  // namespace anybit::runtime
