// x·Φ(x) spelled with Erf becomes Gelu: one function instead of five, and without the cancellation of 1 + erf
// for negative x.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "graph/node.hpp"
#include "runtime/activations.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

class GeluFuser {
 public:
  explicit GeluFuser(Program& program) : program_(program), edit_(program) {}

  Result<void> run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (!edit_.removed(i) && is(step(i), "Erf")) TRY(fuse(i));
    }
    edit_.done();
    return {};
  }

 private:
  struct Found {
    int x, last;
    std::vector<int> gone;  // the other steps
  };

  const Step& step(std::size_t i) const { return program_.steps[i]; }
  const Step& step(int i) const { return program_.steps[static_cast<std::size_t>(i)]; }

  // The step that alone uses the result of this one, unless something is applied to it before.
  int follower(int from, std::string_view op) const {
    if (from < 0 || !step(from).finish.empty()) return -1;
    const int next = edit_.only_consumer(step(from).outputs[0]);
    return next >= 0 && is(step(next), op) && step(next).version >= 7 ? next : -1;
  }

  // The other input of a step with two, if this one is a constant of one float32 near `number`.
  std::optional<int> beside_number(int at, std::size_t constant, float number) const {
    const Step& one = step(at);
    const ops::Array* array = one.inputs.size() == 2 ? edit_.constant(one.inputs[constant]) : nullptr;
    if (!array || array->rank() > 1) return std::nullopt;
    const auto value = constant_number(edit_, one, constant, 0);
    if (!value || std::abs(*value - number) > 1e-6F * number) return std::nullopt;
    return one.inputs[1 - constant];
  }
  std::optional<int> beside_number(int at, float number) const {
    const auto left = beside_number(at, 1, number);
    return left ? left : beside_number(at, 0, number);
  }

  // x, if the step is x / √2.
  std::optional<int> unscaled(int at) const {
    if (at < 0 || step(at).version < 7 || !step(at).finish.empty() ||
        edit_.only_consumer(step(at).outputs[0]) < 0)
      return std::nullopt;
    if (is(step(at), "Div")) return beside_number(at, 1, std::numbers::sqrt2_v<float>);
    if (is(step(at), "Mul")) return beside_number(at, std::numbers::sqrt2_v<float> / 2);
    return std::nullopt;
  }

  // The factor beside a value.
  int other_factor(int at, int value) const {
    const std::vector<int>& inputs = step(at).inputs;
    return inputs[0] == value ? inputs[1] : inputs[0];
  }

  std::optional<Found> match(int erf) const {
    const int scale = edit_.producer(step(erf).inputs[0]);
    const auto x = unscaled(scale);
    const int sum = x ? follower(erf, "Add") : -1;
    if (sum < 0 || !beside_number(sum, 1)) return std::nullopt;
    const int first = follower(sum, "Mul");
    if (first < 0) return std::nullopt;
    const int value = step(sum).outputs[0], beside = other_factor(first, value);
    if (beside == *x || beside_number(first, 0.5F)) {  // x and 1/2 follow
      const int second = follower(first, "Mul");
      if (second < 0) return std::nullopt;
      const bool complete = beside == *x ? beside_number(second, 0.5F).has_value()
                                         : other_factor(second, step(first).outputs[0]) == *x;
      return complete ? std::optional(Found{*x, second, {scale, erf, sum, first}}) : std::nullopt;
    }
    const int half = edit_.producer(beside);  // x / 2
    if (half < 0 || !is(step(half), "Mul") || !step(half).finish.empty() || edit_.only_consumer(beside) < 0 ||
        beside_number(half, 0.5F) != x)
      return std::nullopt;
    return Found{*x, first, {scale, erf, sum, half}};
  }

  Result<void> fuse(std::size_t erf) {
    const auto found = match(static_cast<int>(erf));
    if (!found) return {};
    graph::Node node = graph::as_operator(*step(found->last).node, "Gelu", "");
    node.attributes.clear();
    for (const int one : found->gone) edit_.remove(static_cast<std::size_t>(one));
    return edit_.replace(static_cast<std::size_t>(found->last), std::move(node), {found->x});
  }

  Program& program_;
  Edit edit_;
};

Result<void> run(Program& program, const Resources&) { return GeluFuser(program).run(); }

}  // namespace

std::span<const Descriptor> fuse_gelu_descriptors() {
  static const Descriptor all[] = {{.name = "gelu",
                                    .order = 26,
                                    .summary = "x·Φ(x) spelled with Erf becomes Gelu",
                                    .run = run,
                                    .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
