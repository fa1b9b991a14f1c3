// DequantizeLinear → operator that only moves values → QuantizeLinear with the same parameters: the operator
// works on the integers themselves. Exact.
#include <algorithm>
#include <cstring>

#include "graph/attribute.hpp"
#include "runtime/qdq.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;
using ops::Array;

constexpr std::string_view kMovers[] = {"Reshape",      "Transpose", "Squeeze", "Unsqueeze", "Flatten",
                                        "Slice",        "Gather",    "MaxPool", "Identity",  "DepthToSpace",
                                        "SpaceToDepth", "Expand",    "Tile",    "Resize"};

bool same_bytes(const Array* a, const Array* b) {
  return a && b && a->type() == b->type() && a->count() == b->count() &&
         std::memcmp(a->bytes(), b->bytes(), a->byte_count()) == 0;
}

bool moves(const Step& step) {
  if (std::ranges::find(kMovers, step.descriptor->name) == std::end(kMovers) ||
      !step.descriptor->domain.empty())
    return false;
  if (is(step, "MaxPool")) return step.outputs.size() == 1 && step.version >= 12;
  if (!is(step, "Resize")) return true;
  // tf_crop_and_resize has a value of its own for places beyond the border.
  return attribute_or<std::string>(*step.node, "mode", "nearest") == "nearest" &&
         attribute_or<std::string>(*step.node, "coordinate_transformation_mode", "") != "tf_crop_and_resize";
}

Result<void> run(Program& program, const Resources& resources) {
  Qdq qdq(program, resources);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (qdq.edit.removed(i) || !moves(program.steps[i])) continue;
    const auto x = qdq.activation(program.steps[i].inputs[0]);
    const int next = x ? qdq.edit.only_consumer(program.steps[i].outputs[0]) : -1;
    if (next < 0 || !is(program.steps[static_cast<std::size_t>(next)], "QuantizeLinear")) continue;
    const auto y = qdq.into(program.steps[i].outputs[0]);
    if (!y || !same_bytes(qdq.edit.constant(x->scale), qdq.edit.constant(y->scale)) ||
        !same_bytes(qdq.edit.constant(x->zero_point), qdq.edit.constant(y->zero_point))) {
      continue;
    }
    std::vector<int> inputs = program.steps[i].inputs;
    inputs[0] = x->value;
    TRY(qdq.replace(i, *y, *program.steps[i].node, std::move(inputs)));
  }
  qdq.edit.done();
  return {};
}

}  // namespace

std::span<const Descriptor> fuse_qdq_move_descriptors() {
  static const Descriptor all[] = {{.name = "qdq-move",
                                    .order = 11,
                                    .summary = "operators that move values work on the integers",
                                    .run = run}};
  return all;
}

}  // namespace anybit::runtime
