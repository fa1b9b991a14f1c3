// Reductions over axes, ArgMax and ArgMin. Axes moved from an attribute to an input in version 18 (ReduceSum:
// 13).
#include <algorithm>

#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Shape reduced(const Shape& shape, const std::vector<std::size_t>& axes, bool keep) {
  Shape result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone) result.push_back(shape[i]);
    if (gone && keep) result.push_back(1);
  }
  return result;
}

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  return axes;
}

Result<Values> infer(const Call& call) {
  const Value& input = call.in(0);
  const bool keep = call.integer("keepdims", 1) != 0;
  const bool given = call.has(1) || call.find("axes");
  const auto list = call.list(1, "axes");
  if (!input.shape) return outputs_of(call, tensor(input.type, std::nullopt));
  const std::size_t rank = input.shape->size();
  const auto axes = list ? numbers(*list) : std::nullopt;
  if (given && !axes) {  // known to be there, but not what they are
    return outputs_of(call, tensor(input.type, keep ? std::optional(unknown_shape(rank)) : std::nullopt));
  }
  if (!axes || axes->empty()) {
    if (call.integer("noop_with_empty_axes", 0) != 0) return infer_same(call);
    return outputs_of(call, tensor(input.type, reduced(*input.shape, all_axes(rank), keep)));
  }
  return outputs_of(call, tensor(input.type, reduced(*input.shape, TRY(axes_of(*axes, rank)), keep)));
}

// The product of a small vector: how many elements a computed shape has.
Result<Values> infer_product(const Call& call) {
  Values values = TRY(infer(call));
  const bool whole = !values.empty() && values[0].shape && product(*values[0].shape).is(1);
  if (whole && call.in(0).elements) values[0].elements = std::vector<Dim>{product(*call.in(0).elements)};
  return values;
}

Result<Values> infer_arg(const Call& call) {
  const auto& shape = call.in(0).shape;
  if (!shape) return outputs_of(call, tensor(ElementType::int64, std::nullopt));
  const std::size_t axis = TRY(axis_of(call.integer("axis", 0), shape->size()));
  return outputs_of(call,
                    tensor(ElementType::int64, reduced(*shape, {axis}, call.integer("keepdims", 1) != 0)));
}

Descriptor reduction(std::string_view name, std::vector<std::int16_t> since, Infer rule = infer) {
  return {.name = name, .domain = "", .since = std::move(since), .infer = rule};
}

}  // namespace

std::span<const Descriptor> reduce_descriptors() {
  static const Descriptor all[] = {
      reduction("ReduceL1", {1, 11, 13, 18}),
      reduction("ReduceL2", {1, 11, 13, 18}),
      reduction("ReduceLogSum", {1, 11, 13, 18}),
      reduction("ReduceLogSumExp", {1, 11, 13, 18}),
      reduction("ReduceMax", {1, 11, 12, 13, 18, 20}),
      reduction("ReduceMean", {1, 11, 13, 18}),
      reduction("ReduceMin", {1, 11, 12, 13, 18, 20}),
      reduction("ReduceProd", {1, 11, 13, 18}, infer_product),
      reduction("ReduceSum", {1, 11, 13}),
      reduction("ReduceSumSquare", {1, 11, 13, 18}),
      reduction("ArgMax", {1, 11, 12, 13}, infer_arg),
      reduction("ArgMin", {1, 11, 12, 13}, infer_arg),
  };
  return all;
}

}  // namespace anybit::ops
