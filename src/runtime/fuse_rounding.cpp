// Rounding to float16 or bfloat16 between a Cast to the type and the Cast back. Values that are rounded
// already are not rounded again. Otherwise the operator that makes the value rounds it (Step::finish), and
// applies the activations and limits around it: Conv -> round -> HardSigmoid -> Clip -> round is one step.
// Behind Concat and Resize, the operators before them do so. A convolution that copies its input, because it
// has few channels, applies what comes before it (Step::start).
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/conv/conv_few.hpp"
#include "ops/conv/conv_call.hpp"
#include "runtime/activations.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;
using ops::FinishStep;
using ops::Traits;

// The 16-bit type that a step rounds float32 values to; undefined: it does something else.
ElementType rounded_to(const Step& step) {
  using enum ElementType;
  if (!is(step, "CastThrough", graph::kAnybit)) return undefined;
  const auto to = static_cast<ElementType>(graph::attribute_or(*step.node, "to", std::int64_t{0}));
  const auto through = static_cast<ElementType>(graph::attribute_or(*step.node, "through", std::int64_t{0}));
  return to == float32 && (through == float16 || through == bfloat16) ? through : undefined;
}

// Whether the results have the type of the data inputs, whatever it is.
bool keeps_type(const Step& step) {
  const Traits& traits = step.descriptor->traits;
  const Traits::Role role = step.node ? traits.role_in(*step.node) : traits.role;
  return role != Traits::Role::none && !traits.data.empty() && !traits.normalizes &&
         step.descriptor->quantized.empty() && step.graphs.empty() && step.outputs.size() == 1;
}

class RoundingFuser {
 public:
  explicit RoundingFuser(Program& program)
      : program_(program), edit_(program), facts_(program.slots.size()) {}

  Result<void> run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      learn(i);
      if (is_rounded_twice(i)) TRY(skip(i));
    }
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      while (!edit_.removed(i) && TRY(finish_more(i))) {
      }
    }
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      while (!edit_.removed(i) && TRY(start_more(i))) {
      }
    }
    edit_.done();
    return {};
  }

 private:
  // What is known of a slot's value.
  struct Facts {
    bool is_float = false;                         // of type float32, …
    ElementType rounded = ElementType::undefined;  // … with values of this type
  };

  Facts& facts(int slot) { return facts_[static_cast<std::size_t>(slot)]; }
  const Step& step(std::size_t i) const { return program_.steps[i]; }

  bool is_float(int slot) {
    if (const ops::Array* constant = edit_.constant(slot)) return constant->type() == ElementType::float32;
    return facts(slot).is_float ||
           program_.slots[static_cast<std::size_t>(slot)].type == ElementType::float32;
  }

  void learn(std::size_t i) {
    const Step& one = step(i);
    if (one.outputs.size() != 1 || one.outputs[0] < 0) return;
    Facts& made = facts(one.outputs[0]);
    made.rounded = rounded_to(one);
    if (made.rounded != ElementType::undefined || casts_to(one, ElementType::float32)) {
      made.is_float = true;
      return;
    }
    if (!keeps_type(one)) return;
    made.is_float = of_data(one, [&](int slot) { return is_float(slot); });
    if (!made.is_float) return;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      if (passes_values(one, type) && of_data(one, [&](int slot) { return facts(slot).rounded == type; }))
        made.rounded = type;
    }
  }

  // Whether something holds for all data inputs, of which there is at least one.
  template <class Holds>
  bool of_data(const Step& one, const Holds& holds) {
    bool any = false;
    for (std::size_t k = 0; k < one.inputs.size(); ++k) {
      if (one.inputs[k] < 0 || !one.descriptor->traits.is_data(static_cast<int>(k))) continue;
      if (!holds(one.inputs[k])) return false;
      any = true;
    }
    return any;
  }

  // Whether each result is the value of an input, or a limit that the type has.
  bool passes_values(const Step& one, ElementType type) {
    const Traits& traits = one.descriptor->traits;
    if (is(one, "Relu")) return true;
    if (is(one, "Clip")) {
      const auto bounds = clip_bounds(edit_, one);
      return type == ElementType::float16 && bounds && std::abs(bounds->front()) == 65504 &&
             std::abs(bounds->back()) == 65504;
    }
    return traits.moves(*one.node) && traits.pass_through.since > 0 &&
           !(traits.pass_through.between && traits.pass_through.between(*one.node));
  }

  bool is_rounded_twice(std::size_t i) {
    const ElementType type = rounded_to(step(i));
    return type != ElementType::undefined && facts(step(i).inputs[0]).rounded == type;
  }

  // Lets the consumers of a step take its input instead.
  Result<void> skip(std::size_t i) {
    const int from = step(i).inputs[0], to = step(i).outputs[0];
    const std::vector<int> users = edit_.consumers(to);
    const auto can_change = [&](int user) {
      return user >= 0 && step(static_cast<std::size_t>(user)).graphs.empty();
    };
    if (!std::ranges::all_of(users, can_change)) return {};
    for (const int user : users) {
      const auto at = static_cast<std::size_t>(user);
      std::vector<int> inputs = step(at).inputs;
      std::ranges::replace(inputs, to, from);
      if (inputs != step(at).inputs) TRY(edit_.replace(at, *step(at).node, std::move(inputs)));
    }
    edit_.remove(i);
    return {};
  }

  // Whether an operator writes float32 results of its own, which can be changed in place.
  bool can_finish(const Step& one) {
    return keeps_type(one) && one.outputs[0] >= 0 && !one.descriptor->traits.moves(*one.node) &&
           facts(one.outputs[0]).is_float && rounded_to(one) == ElementType::undefined;
  }

  std::optional<FinishStep> as_finish(const Step& one) {
    if (const ElementType type = rounded_to(one); type != ElementType::undefined)
      return FinishStep{.through = type};
    const auto named = activation_of_step(edit_, one);
    if (!named) return std::nullopt;
    auto activation = ops::activation_named(named->name, named->parameters);
    if (!activation.ok()) return std::nullopt;
    return FinishStep{.activation = *activation};
  }

  // Whether elements may change before such a step instead of behind it.
  bool only_moves(const Step& one) {
    const Traits& traits = one.descriptor->traits;
    return (is(one, "Concat") || is(one, "Resize")) && one.outputs.size() == 1 && traits.moves(*one.node) &&
           !(traits.pass_through.between && traits.pass_through.between(*one.node));
  }

  // The operators that make the results of a step: itself, or those before it, if it only moves values and
  // nothing else uses them. None if one of them cannot finish its results.
  std::vector<std::size_t> makers_of(std::size_t i) {
    std::vector<std::size_t> makers, open{i};
    while (!open.empty()) {
      const Step& one = step(open.back());
      const std::size_t at = open.back();
      open.pop_back();
      if (can_finish(one)) {
        makers.push_back(at);
        continue;
      }
      const bool moves = only_moves(one) && of_data(one, [&](int slot) {
                           const int maker = edit_.producer(slot);
                           if (maker < 0 || edit_.only_consumer(slot) < 0 || !is_float(slot)) return false;
                           open.push_back(static_cast<std::size_t>(maker));
                           return true;
                         });
      if (!moves) return {};
    }
    return makers;
  }

  // Moves the only consumer into the step, if it rounds, or if it applies an activation to rounded values or
  // before they are rounded.
  Result<bool> finish_more(std::size_t i) {
    if (!keeps_type(step(i)) || step(i).outputs[0] < 0) return false;
    const int next = edit_.only_consumer(step(i).outputs[0]);
    if (next < 0) return false;
    const auto at = static_cast<std::size_t>(next);
    const auto found = as_finish(step(at));
    if (!found || step(at).inputs[0] != step(i).outputs[0]) return false;
    const std::vector<std::size_t> makers = makers_of(i);
    if (makers.empty()) return false;
    if (found->through == ElementType::undefined &&
        std::ranges::any_of(makers, [&](std::size_t one) { return step(one).finish.empty(); })) {
      const int behind = edit_.only_consumer(step(at).outputs[0]);
      if (behind < 0 || rounded_to(step(static_cast<std::size_t>(behind))) == ElementType::undefined)
        return false;
    }
    edit_.absorb(i, at);
    for (const std::size_t one : makers) program_.steps[one].finish.push_back(*found);
    return true;
  }

  // Whether a convolution copies its input before it computes.
  bool copies_input(const Step& one) {
    if (!is(one, "Conv") && !is(one, "FusedConv", ops::kMicrosoft)) return false;
    if (one.inputs.size() < 2 || (one.inputs.size() > 3 && one.inputs[3] >= 0)) return false;
    const ops::Array* w = edit_.constant(one.inputs[1]);
    if (!w || w->type() != ElementType::float32) return false;
    const auto dilations = graph::attribute_or(*one.node, "dilations", std::vector<std::int64_t>());
    return w->rank() >= 3 && w->dim(1) <= kernels::kFewChannels &&
           (dilations.empty() || dilations.back() == 1) &&
           graph::attribute_or(*one.node, "group", std::int64_t{1}) == 1;
  }

  // Moves the producer of a convolution's input into it. The padding is added later, so zero must stay zero.
  Result<bool> start_more(std::size_t i) {
    if (!copies_input(step(i))) return false;
    const int before = edit_.producer(step(i).inputs[0]);
    if (before < 0 || edit_.only_consumer(step(i).inputs[0]) < 0) return false;
    const Step& one = step(static_cast<std::size_t>(before));
    const auto found = as_finish(one);
    if (!found || !one.start.empty() || !is_float(one.inputs[0])) return false;
    std::vector<FinishStep> start{*found};
    start.insert(start.end(), one.finish.begin(), one.finish.end());
    float zero = 0;
    ops::finish(start, {&zero, 1});
    if (std::bit_cast<std::uint32_t>(zero) != 0) return false;
    start.insert(start.end(), step(i).start.begin(), step(i).start.end());
    std::vector<int> inputs = step(i).inputs;
    inputs[0] = one.inputs[0];
    edit_.remove(static_cast<std::size_t>(before));
    TRY(edit_.replace(i, *step(i).node, std::move(inputs)));
    program_.steps[i].start = std::move(start);
    return true;
  }

  Program& program_;
  Edit edit_;
  std::vector<Facts> facts_;  // by slot
};

Result<void> run(Program& program, const Resources&) { return RoundingFuser(program).run(); }

}  // namespace

std::span<const Descriptor> fuse_rounding_descriptors() {
  static const Descriptor all[] = {
      {.name = "rounding",
       .order = 24,
       .summary = "the operator that makes a value rounds it to float16, and applies the activations around",
       .run = run,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
