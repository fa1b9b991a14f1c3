// Elementwise float32 operators that follow each other become one pass over their elements: activations that
// exporters spell out, scales and shifts, gates, residual sums. A group has one result; the values inside it
// have no other consumer.
#include <algorithm>
#include <optional>
#include <set>

#include "graph/node.hpp"
#include "ops/elementwise/element_kernel.hpp"
#include "runtime/edit.hpp"
#include "runtime/quantized.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

constexpr std::size_t kMostNodes = 16, kMostSlots = 24;  // as the operator takes
constexpr std::size_t kMostVarying = 6;                  // inputs that live until the group runs

// The element types of values as far as they are certain without shapes.
class SlotTypes {
 public:
  explicit SlotTypes(const Program& program) : types_(program.slots.size()) {
    for (std::size_t i = 0; i < program.slots.size(); ++i) {
      const Slot& slot = program.slots[i];
      types_[i] = slot.is_constant && slot.value.is_array() ? slot.value.array.type() : slot.type;
    }
    for (const Step& step : program.steps) {
      const ElementType type = result_of(step);
      for (const int slot : step.outputs) {
        if (slot >= 0) types_[static_cast<std::size_t>(slot)] = type;
      }
    }
  }

  ElementType of(int slot) const {
    return slot < 0 ? ElementType::undefined : types_[static_cast<std::size_t>(slot)];
  }

 private:
  ElementType result_of(const Step& step) const {
    const ops::Traits& traits = step.descriptor->traits;
    if (is(step, "Cast") || is(step, "CastThrough", graph::kAnybit))
      return static_cast<ElementType>(graph::attribute_or(*step.node, "to", std::int64_t{0}));
    if (dequantizes(step)) return of(step.inputs[1]);
    const bool linear = traits.linear != ops::Traits::Linear::none;
    if (!linear && !traits.by_element && traits.role != ops::Traits::Role::move)
      return ElementType::undefined;
    for (const int slot : step.inputs) {
      const ElementType type = of(slot);
      if (type == ElementType::undefined || (linear && type != ElementType::float32)) continue;
      return type;
    }
    return traits.range ? ElementType::float32 : ElementType::undefined;  // no function of integers
  }

  std::vector<ElementType> types_;
};

class Chains {
 public:
  explicit Chains(Program& program) : program_(program), edit_(program), types_(program) {}

  Result<void> run() {
    find_fitting();
    for (std::size_t i = program_.steps.size(); i-- > 0;) {
      if (edit_.removed(i) || !fits_[i]) continue;
      const std::vector<std::size_t> group = group_of(i);
      if (group.size() > 1) TRY(join(group));
    }
    edit_.done();
    return {};
  }

 private:
  void find_fitting() {
    for (const Step& step : program_.steps) fits_.push_back(fits(step));
  }

  bool fits(const Step& step) const {
    const ops::Descriptor& descriptor = *step.descriptor;
    if (!(descriptor.traits.by_element || is(step, "CastThrough", graph::kAnybit)) ||
        descriptor.layouts != ops::Layouts::each || !step.graphs.empty() || step.outputs.size() != 1 ||
        step.outputs[0] < 0)
      return false;
    std::vector<const Array*> constants;
    for (const int slot : step.inputs) {
      const ElementType type = types_.of(slot);
      if (type != ElementType::undefined && type != ElementType::float32) return false;
      constants.push_back(slot < 0 ? nullptr : edit_.constant(slot));
    }
    const auto kernel = ops::element_kernel(*step.node, descriptor, step.version, constants);
    return kernel && is_certain(step, *kernel);
  }

  // Integers are rarer than floats, but shapes are computed with them: a type must be known, unless integers
  // cannot be there.
  bool is_certain(const Step& step, const ops::ElementKernel& kernel) const {
    if (!kernel.row && step.descriptor->traits.range) return true;
    return std::ranges::any_of(step.inputs,
                               [&](int slot) { return types_.of(slot) == ElementType::float32; });
  }

  // The steps that only lead to this one, sorted.
  std::vector<std::size_t> group_of(std::size_t root) const {
    std::set<std::size_t> group{root};
    bool grown = true;
    while (grown && group.size() < kMostNodes) {
      grown = false;
      for (const std::size_t one : std::vector(group.begin(), group.end())) {
        for (const int slot : program_.steps[one].inputs) {
          const int maker = edit_.producer(slot);
          if (maker < 0 || group.size() == kMostNodes) continue;
          const auto index = static_cast<std::size_t>(maker);
          if (!fits_[index] || !only_rounds(index) || group.contains(index) || !leads_only_to(slot, group))
            continue;
          group.insert(index);
          if (nodes_of(group) > kMostNodes || slots_of(group).size() > kMostSlots ||
              varying(group) > kMostVarying) {
            group.erase(index);
          } else {
            grown = true;
          }
        }
      }
    }
    return {group.begin(), group.end()};
  }

  // Whether nothing but roundings to float16 follows in the step itself, which become nodes of the group.
  bool only_rounds(std::size_t index) const {
    return std::ranges::all_of(program_.steps[index].finish, [](const ops::FinishStep& one) {
      return one.through == ElementType::float16;
    });
  }

  std::size_t nodes_of(const std::set<std::size_t>& group) const {
    std::size_t count = group.size();
    for (const std::size_t one : group) {
      if (one != *group.rbegin()) count += program_.steps[one].finish.size();
    }
    return count;
  }

  bool leads_only_to(int slot, const std::set<std::size_t>& group) const {
    return std::ranges::all_of(edit_.consumers(slot), [&](int step) {
      return step >= 0 && group.contains(static_cast<std::size_t>(step));
    });
  }

  // The inputs of the group, in order.
  template <class Group>
  std::vector<int> slots_of(const Group& group) const {
    std::vector<int> slots;
    for (const std::size_t one : group) {
      for (const int slot : program_.steps[one].inputs) {
        const int maker = edit_.producer(slot);
        const bool inside =
            maker >= 0 && std::ranges::find(group, static_cast<std::size_t>(maker)) != group.end();
        if (slot >= 0 && !inside && std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
      }
    }
    return slots;
  }

  std::size_t varying(const std::set<std::size_t>& group) const {
    const std::vector<int> slots = slots_of(group);
    return static_cast<std::size_t>(
        std::ranges::count_if(slots, [&](int slot) { return !edit_.constant(slot); }));
  }

  // Rounds the last node's result, which keeps its name.
  static void add_rounding(graph::Graph& steps) {
    graph::Node& made = steps.nodes.back();
    graph::Node node = made;
    node.attributes.clear();
    node = cast_through(node, ElementType::float16);
    node.opset = 1;
    made.outputs[0] = fmt::format("{} before node {}", made.outputs[0], steps.nodes.size());
    node.inputs = {made.outputs[0]};
    steps.nodes.push_back(std::move(node));
  }

  static std::string name_of(int slot) { return slot < 0 ? std::string() : fmt::format("{}", slot); }

  Result<void> join(const std::vector<std::size_t>& group) {
    const std::vector<int> slots = slots_of(group);
    graph::Graph steps;
    for (const int slot : slots) steps.inputs.emplace_back().name = graph::Text(name_of(slot));
    for (const std::size_t one : group) {
      const Step& step = program_.steps[one];
      graph::Node node = *step.node;
      node.opset = step.version;
      node.inputs.resize(step.inputs.size());
      std::ranges::transform(step.inputs, node.inputs.begin(), name_of);
      node.outputs = {name_of(step.outputs[0])};
      steps.nodes.push_back(std::move(node));
      if (one == group.back()) break;  // its finish stays
      for (std::size_t k = 0; k < step.finish.size(); ++k) add_rounding(steps);
    }
    graph::Node node = graph::as_operator(*program_.steps[group.back()].node, "Elementwise", graph::kAnybit);
    node.attributes.clear();
    set_attribute(node, "steps", graph::GraphBox(std::move(steps)));
    for (const std::size_t one : group) {
      if (one != group.back()) edit_.remove(one);
    }
    return edit_.replace(group.back(), std::move(node), slots);
  }

  Program& program_;
  Edit edit_;
  const SlotTypes types_;
  std::vector<bool> fits_;
};

Result<void> run(Program& program, const Resources&) {
  const bool trains = std::ranges::any_of(program.slots, [](const Slot& slot) { return slot.is_variable; });
  if (trains) return {};  // results that depend on variables alone are kept step by step
  return Chains(program).run();
}

}  // namespace

std::span<const Descriptor> fuse_elementwise_descriptors() {
  static const Descriptor all[] = {{.name = "elementwise",
                                    .order = 30,
                                    .summary = "elementwise operators that follow each other become one pass",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
