// Islands of float16 or bfloat16 between Casts: there is no arithmetic here that is faster than float32, so
// their operators compute in float32 on the same values, and the results of an island are rounded to the type
// as a Cast would. Values inside of an island keep the precision of float32, as in ONNX Runtime, which
// removes the Casts between operators that it computes in float32. An island is a linear operator, or several
// with elementwise, pooling and pass-through operators between them. Operators may share a Cast; its other
// consumers may only be Casts back to float32.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "ops/convert.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;

// Operators of one result whose type is that of their data inputs, whatever it is.
bool is_light(const Step& step) {
  const ops::Traits& traits = step.descriptor->traits;
  const ops::Traits::Role role = step.node ? traits.role_in(*step.node) : traits.role;
  return role != ops::Traits::Role::none && !traits.data.empty() && !traits.normalizes &&
         step.descriptor->quantized.empty() && step.graphs.empty();
}

bool may_be_in_island(const Step& step) {
  return step.descriptor->domain.empty() && step.outputs.size() == 1 && step.outputs[0] >= 0 &&
         (step.descriptor->traits.linear != ops::Traits::Linear::none || is_light(step));
}

bool is_half(ElementType type) { return type == ElementType::float16 || type == ElementType::bfloat16; }

class Float16Fuser {
 public:
  Float16Fuser(Program& program, const Resources& resources)
      : program_(program), resources_(resources), edit_(program), types_(program.steps.size()) {}

  Result<void> run() {
    find_candidates();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) count_others(i);
    drop_those_that_do_not_fit();
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (types_[i] != ElementType::undefined) TRY(compute_in_float(i));
    }
    edit_.done();
    return {};
  }

 private:
  const Step& step(std::size_t i) const { return program_.steps[i]; }

  bool casts_to(int at, ElementType type) const {
    return at >= 0 && runtime::casts_to(step(static_cast<std::size_t>(at)), type);
  }

  // The 16-bit type of a slot: a constant, the output of a Cast, or that of a candidate; undefined: none.
  ElementType type_of(int slot) const {
    if (slot < 0) return ElementType::undefined;
    if (const ops::Array* constant = edit_.constant(slot))
      return is_half(constant->type()) ? constant->type() : ElementType::undefined;
    const int producer = edit_.producer(slot);
    if (producer < 0) return ElementType::undefined;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      if (casts_to(producer, type)) return type;
    }
    return types_[static_cast<std::size_t>(producer)];
  }

  // The 16-bit type that an operator computes in, by its data inputs, which have it in common.
  ElementType type_of_step(const Step& one) const {
    if (!may_be_in_island(one)) return ElementType::undefined;
    ElementType type = ElementType::undefined;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      if (one.inputs[i] < 0) continue;
      const ElementType mine = type_of(one.inputs[i]);
      if (mine == ElementType::undefined && is_parameter(one, i)) continue;
      if (mine == ElementType::undefined || (type != ElementType::undefined && type != mine))
        return ElementType::undefined;
      type = mine;
    }
    return type;
  }

  // An input that is not of the operator's type: the shape of a Reshape.
  bool is_parameter(const Step& one, std::size_t input) const {
    if (one.descriptor->traits.linear != ops::Traits::Linear::none ||
        one.descriptor->traits.is_data(static_cast<int>(input)))
      return false;
    const ops::Array* constant = edit_.constant(one.inputs[input]);
    return !constant || constant->type() == ElementType::int64;
  }

  // Steps are in topological order.
  void find_candidates() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) types_[i] = type_of_step(step(i));
  }

  // Counts the consumers of a Cast's output other than such linear operators and Casts back to float32.
  void count_others(std::size_t cast) {
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      if (!casts_to(static_cast<int>(cast), type)) continue;
      const int slot = step(cast).outputs[0];
      if (slot < 0) continue;
      others_[slot] = std::ranges::count_if(edit_.consumers(slot), [&](int user) {
        return user < 0 ||
               (types_[static_cast<std::size_t>(user)] != type && !casts_to(user, ElementType::float32));
      });
    }
  }

  // Whether all data comes from such Casts, or from other operators of the island, and goes to others or to
  // Casts to float32.
  bool fits(const Step& one, ElementType type) const {
    bool any = false;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const int slot = one.inputs[i];
      if (slot < 0 || edit_.constant(slot)) continue;
      if (type_of(slot) != type) {
        if (!is_parameter(one, i)) return false;
        continue;
      }
      if (casts_to(edit_.producer(slot), type) && others_.at(slot) > 0) return false;
      any = true;
    }
    const std::vector<int> users = edit_.consumers(one.outputs[0]);
    return any && !users.empty() && std::ranges::all_of(users, [&](int user) {
             return user >= 0 &&
                    (types_[static_cast<std::size_t>(user)] == type || casts_to(user, ElementType::float32));
           });
  }

  // An operator that is dropped is another consumer of its Casts and of the operators before it, and no
  // longer in the island for those after it: all of these are checked again.
  void drop_those_that_do_not_fit() {
    std::vector<std::size_t> to_look_at(types_.size());
    std::iota(to_look_at.begin(), to_look_at.end(), std::size_t{0});
    const auto look_at_users = [&](int slot) {
      for (const int user : edit_.consumers(slot)) {
        if (user >= 0) to_look_at.push_back(static_cast<std::size_t>(user));
      }
    };
    while (!to_look_at.empty()) {
      const std::size_t i = to_look_at.back();
      to_look_at.pop_back();
      if (types_[i] == ElementType::undefined || fits(step(i), types_[i])) continue;
      types_[i] = ElementType::undefined;
      look_at_users(step(i).outputs[0]);
      for (const int slot : step(i).inputs) {
        const int producer = slot < 0 ? -1 : edit_.producer(slot);
        if (producer >= 0 && types_[static_cast<std::size_t>(producer)] != ElementType::undefined)
          to_look_at.push_back(static_cast<std::size_t>(producer));
        const auto found = others_.find(slot);
        if (found != others_.end() && found->second++ == 0) look_at_users(slot);
      }
    }
  }

  Result<int> in_float(int slot) {
    if (const auto known = floats_.find(slot); known != floats_.end()) return known->second;
    const ops::Array& half = *edit_.constant(slot);
    ops::Array wide = TRY(ops::Array::make(*resources_.memory, ElementType::float32, half.dims()));
    ops::convert(half.type(), half.bytes(), ElementType::float32, wide.mutable_bytes(), half.count());
    return floats_[slot] = edit_.add_constant(std::move(wide));
  }

  // Replaces a Cast by one that rounds to the type and produces float32.
  Result<void> round_instead(int cast, ElementType type) {
    const auto at = static_cast<std::size_t>(cast);
    if (!is(step(at), "Cast")) return {};  // already replaced, for another linear operator
    return edit_.replace(at, cast_through(*step(at).node, type), step(at).inputs);
  }

  Result<void> compute_in_float(std::size_t i) {
    const ElementType type = types_[i];
    std::vector<int> inputs = step(i).inputs;
    for (int& slot : inputs) {
      if (slot < 0) continue;
      if (const ops::Array* constant = edit_.constant(slot)) {
        if (is_half(constant->type())) slot = TRY(in_float(slot));
      } else if (casts_to(edit_.producer(slot), type)) {
        TRY(round_instead(edit_.producer(slot), type));
      }
    }
    TRY(edit_.replace(i, *step(i).node, std::move(inputs)));
    for (const int user : edit_.consumers(step(i).outputs[0])) {
      if (casts_to(user, ElementType::float32)) TRY(round_instead(user, type));
    }
    return {};
  }

  Program& program_;
  const Resources& resources_;
  Edit edit_;
  std::vector<ElementType> types_;                  // by step: of the operators that remain
  std::unordered_map<int, std::ptrdiff_t> others_;  // by output slot of a Cast: the number of other consumers
  std::unordered_map<int, int> floats_;             // from a constant to its float32 copy
};

Result<void> run(Program& program, const Resources& resources) {
  return Float16Fuser(program, resources).run();
}

}  // namespace

std::span<const Descriptor> fuse_float16_descriptors() {
  static const Descriptor all[] = {
      {.name = "half",
       .order = 5,
       .summary = "islands of float16 between Casts are computed in float32, and their results rounded",
       .run = run,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
