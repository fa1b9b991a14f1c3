// Linear operators in float16 or bfloat16 between Casts: there is no arithmetic here that is faster than
// float32, so they are computed in float32 on the same values, and the result is rounded to the type as a
// Cast would. Linear operators may share a Cast; its other consumers may only be Casts back to float32.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ops/convert.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::ElementType;

bool is_linear(const Step& step) {
  return step.descriptor->domain.empty() && step.descriptor->traits.linear != ops::Traits::Linear::none;
}

bool is_half(ElementType type) { return type == ElementType::float16 || type == ElementType::bfloat16; }

class Float16Fuser {
 public:
  Float16Fuser(Program& program, const Resources& resources)
      : program_(program), resources_(resources), edit_(program), types_(program.steps.size()) {}

  Result<void> run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) types_[i] = type_of_linear(step(i));
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

  // The 16-bit type of a linear operator, by its weight: a constant, or the output of a Cast.
  ElementType type_of_linear(const Step& linear) const {
    if (!is_linear(linear) || linear.inputs.size() < 2) return ElementType::undefined;
    const ops::Array* weight = edit_.constant(linear.inputs[1]);
    if (weight) return is_half(weight->type()) ? weight->type() : ElementType::undefined;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      if (casts_to(edit_.producer(linear.inputs[1]), type)) return type;
    }
    return ElementType::undefined;
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

  // Whether all inputs are constants or such Casts, and a Cast to float32 is the result's only consumer.
  bool fits(const Step& linear, ElementType type) const {
    for (const int slot : linear.inputs) {
      if (slot < 0 || edit_.constant(slot)) continue;
      if (!casts_to(edit_.producer(slot), type) || others_.at(slot) > 0) return false;
    }
    return casts_to(edit_.only_consumer(linear.outputs[0]), ElementType::float32);
  }

  // A dropped operator is another consumer of its Casts: the first drop at a Cast makes its users be checked
  // again.
  void drop_those_that_do_not_fit() {
    std::vector<std::size_t> to_look_at(types_.size());
    std::iota(to_look_at.begin(), to_look_at.end(), std::size_t{0});
    while (!to_look_at.empty()) {
      const std::size_t i = to_look_at.back();
      to_look_at.pop_back();
      if (types_[i] == ElementType::undefined || fits(step(i), types_[i])) continue;
      types_[i] = ElementType::undefined;
      for (const int slot : step(i).inputs) {
        const auto found = others_.find(slot);
        if (found == others_.end() || found->second++ > 0) continue;
        for (const int user : edit_.consumers(slot)) {
          if (user >= 0) to_look_at.push_back(static_cast<std::size_t>(user));
        }
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
      if (edit_.constant(slot)) {
        slot = TRY(in_float(slot));
      } else {
        TRY(round_instead(edit_.producer(slot), type));
      }
    }
    const int behind = edit_.only_consumer(step(i).outputs[0]);
    TRY(edit_.replace(i, *step(i).node, std::move(inputs)));
    return round_instead(behind, type);
  }

  Program& program_;
  const Resources& resources_;
  Edit edit_;
  std::vector<ElementType> types_;                  // by step: of the linear operators that remain
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
       .summary = "linear operators in float16 between Casts are computed in float32 and rounded",
       .run = run,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
