#include "runtime/steps_alone.hpp"

#include <unordered_map>

namespace anybit::runtime {

Program steps_alone(const Program& program, std::initializer_list<std::size_t> steps) {
  Program alone;
  std::unordered_map<int, int> numbers;  // of slots
  const auto number = [&](int slot) {
    if (slot < 0) return slot;
    const auto [found, is_new] = numbers.try_emplace(slot, static_cast<int>(alone.slots.size()));
    const Slot& about = program.slots[static_cast<std::size_t>(slot)];
    if (is_new)
      alone.slots.push_back({.name = about.name, .is_constant = about.is_constant, .value = about.value});
    return found->second;
  };
  for (const std::size_t index : steps) {
    const Step& from = program.steps[index];
    Step& step = alone.steps.emplace_back();
    step.node = from.node;
    step.descriptor = from.descriptor;
    step.version = from.version;
    step.place = from.place;
    step.finish = from.finish;
    for (const int slot : from.inputs) step.inputs.push_back(number(slot));
    for (const int slot : from.outputs) step.outputs.push_back(number(slot));
  }
  return alone;
}

}  // namespace anybit::runtime
