// Layer normalization spelled out, (x − mean) / √(mean((x − mean)²) + ε) · scale + shift over the last axis,
// becomes LayerNormalization: one pass instead of nine.
#include <optional>
#include <vector>

#include "graph/node.hpp"
#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::ElementType;

class LayerNorms {
 public:
  explicit LayerNorms(Program& program) : program_(program), edit_(program) {}

  Result<void> run() {
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      if (edit_.removed(i) || !is(program_.steps[i], "Sqrt")) continue;
      const auto found = match(static_cast<int>(i));
      if (found) TRY(replace(*found));
    }
    edit_.done();
    return {};
  }

 private:
  struct Found {
    int x, scale, shift, last;
    float epsilon;
    std::vector<int> steps;
  };

  const Step& step(int index) const { return program_.steps[static_cast<std::size_t>(index)]; }
  int output(int index) const { return step(index).outputs[0]; }

  // The producer of a slot, if it is this operator and its result has so many uses.
  int maker(int slot, std::string_view op, int uses = 1) const {
    const int index = edit_.producer(slot);
    return index >= 0 && is(step(index), op) && edit_.uses(slot) == uses ? index : -1;
  }

  // The only consumer, if it is this operator with two inputs, the other of which is a constant row.
  struct Next {
    int index = -1, constant = -1;
  };
  Next next(int slot, std::string_view op) const {
    const int index = edit_.only_consumer(slot);
    if (index < 0 || !is(step(index), op) || step(index).inputs.size() != 2) return {};
    const std::vector<int>& inputs = step(index).inputs;
    const int other = inputs[inputs[0] == slot ? 1 : 0];
    const Array* row = edit_.constant(other);
    if (!row || row->type() != ElementType::float32 || row->rank() != 1 || row->count() < 2) return {};
    return {index, other};
  }

  bool is_mean(int index) const {
    const Step& mean = step(index);
    if (graph::attribute_or(*mean.node, "keepdims", std::int64_t{1}) == 0) return false;
    const auto axes = graph::integers(*mean.node, "axes");
    if (axes) return *axes == std::vector<std::int64_t>{-1};
    const Array* list = mean.inputs.size() == 2 ? edit_.constant(mean.inputs[1]) : nullptr;
    return list && list->type() == ElementType::int64 && list->count() == 1 &&
           *list->data<std::int64_t>() == -1;
  }

  std::optional<float> number(int slot) const {
    const Array* array = edit_.constant(slot);
    if (!array || array->type() != ElementType::float32 || array->count() != 1) return std::nullopt;
    return *array->data<float>();
  }

  // From the root backwards, then forwards.
  std::optional<Found> match(int root) const {
    const int sum = maker(step(root).inputs[0], "Add");
    if (sum < 0) return std::nullopt;
    const std::vector<int>& terms = step(sum).inputs;
    const std::size_t at = number(terms[1]) ? 1 : 0;
    const auto epsilon = number(terms[at]);
    const int variance = epsilon ? maker(terms[1 - at], "ReduceMean") : -1;
    if (variance < 0 || !is_mean(variance)) return std::nullopt;
    const int square = squared(step(variance).inputs[0]);
    if (square < 0) return std::nullopt;
    const int centred = step(square).inputs[0];
    const int difference = maker(centred, "Sub", is(step(square), "Mul") ? 3 : 2);
    if (difference < 0) return std::nullopt;
    const int x = step(difference).inputs[0], mean = maker(step(difference).inputs[1], "ReduceMean");
    if (mean < 0 || !is_mean(mean) || step(mean).inputs[0] != x) return std::nullopt;
    const int quotient = edit_.only_consumer(output(root));
    if (quotient < 0 || !is(step(quotient), "Div") || step(quotient).inputs[0] != centred)
      return std::nullopt;
    const Next scaled = next(output(quotient), "Mul");
    const Next shifted = scaled.index < 0 ? Next{} : next(output(scaled.index), "Add");
    if (shifted.index < 0 ||
        edit_.constant(scaled.constant)->count() != edit_.constant(shifted.constant)->count())
      return std::nullopt;
    std::vector<int> steps{mean, difference, square, variance, sum, root, quotient, scaled.index};
    // Values that are rounded are not those of the formula.
    if (std::ranges::any_of(steps, [&](int one) { return !step(one).finish.empty(); })) return std::nullopt;
    return Found{x, scaled.constant, shifted.constant, shifted.index, *epsilon, std::move(steps)};
  }

  int squared(int slot) const {
    if (const int product = maker(slot, "Mul"); product >= 0)
      return step(product).inputs[0] == step(product).inputs[1] ? product : -1;
    const int power = maker(slot, "Pow");
    return power >= 0 && number(step(power).inputs[1]) == 2.0f ? power : -1;
  }

  Result<void> replace(const Found& found) {
    const auto last = static_cast<std::size_t>(found.last);
    graph::Node node = graph::as_operator(*program_.steps[last].node, "LayerNormalization");
    node.attributes.clear();
    set_attribute(node, "epsilon", found.epsilon);
    for (const int one : found.steps) edit_.remove(static_cast<std::size_t>(one));
    return edit_.replace(last, std::move(node), {found.x, found.scale, found.shift});
  }

  Program& program_;
  Edit edit_;
};

Result<void> run(Program& program, const Resources&) { return LayerNorms(program).run(); }

}  // namespace

std::span<const Descriptor> fuse_layer_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "layer-norm",
       .order = 25,
       .summary = "a normalization of rows spelled out becomes LayerNormalization",
       .run = run,
       .whom = For::running}};
  return all;
}

}  // namespace anybit::runtime
