// Expand and Tile: a tensor repeated. ONNX: Expand-8, -13; Tile-1 (one axis), -6, -13.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_expand(const Call& call) {
  const Value& input = call.in(0);
  const auto& target = call.in(1).elements;
  if (!target) return outputs_of(call, tensor(input.type, std::nullopt));
  Value value = tensor(input.type, TRY(broadcast(input.shape, *target)));
  const bool from_one = input.elements && input.elements->size() == 1;
  if (from_one && value.shape) {
    const Dim count = product(*value.shape);
    if (count.known() && *count.size <= kFollowed) {
      value.elements = std::vector<Dim>(static_cast<std::size_t>(*count.size), (*input.elements)[0]);
    }
  }
  return outputs_of(call, std::move(value));
}

Result<Values> infer_tile(const Call& call) {
  const Value& input = call.in(0);
  if (!input.shape) return outputs_of(call, tensor(input.type, std::nullopt));
  const std::size_t rank = input.shape->size();
  const auto& repeats = call.in(1).elements;
  if (call.version < 6 || !repeats) return outputs_of(call, tensor(input.type, unknown_shape(rank)));
  if (repeats->size() != rank) {
    return wrong(fmt::format("{} repeats are given for a tensor of rank {}", repeats->size(), rank));
  }
  Shape shape = *input.shape;
  for (std::size_t i = 0; i < rank; ++i) shape[i] = shape[i] * (*repeats)[i];
  return outputs_of(call, tensor(input.type, std::move(shape)));
}

}  // namespace

std::span<const Descriptor> expand_descriptors() {
  static const Descriptor all[] = {
      {.name = "Expand", .domain = "", .since = {8, 13}, .infer = infer_expand},
      {.name = "Tile", .domain = "", .since = {1, 6, 13}, .infer = infer_tile},
  };
  return all;
}

}  // namespace anybit::ops
