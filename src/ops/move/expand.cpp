// Expand and Tile: repeat a tensor. ONNX: Expand-8, -13; Tile-1 (one axis), -6, -13.
#include "base/checked.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
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

Result<void> run_expand(Frame& frame) {
  const Array& input = frame.in(0);
  const Dims target = TRY(dims_from(frame.in(1), "shape"));
  for (const std::int64_t size : target) {
    if (size < 0) return wrong(fmt::format("the shape is {}", to_string(target)), "no negative sizes");
  }
  const Dims dims = TRY(broadcast_dims(input.dims(), target));
  if (dims == input.dims()) return frame.share(0, 0, dims);
  Array* out = TRY(frame.out(0, input.type(), dims));
  copy_view(frame, input, {0, broadcast_strides(input.dims(), dims)}, *out);
  return {};
}

// Tile-1: repeats `tiles` times along `axis`; both are inputs.
Result<Dims> repeats_of(const Frame& frame) {
  const std::size_t rank = frame.in(0).rank();
  if (frame.version >= 6) return dims_from(frame.in(1), "repeats");
  if (!frame.has(2)) return wrong("no axis is given");
  Dims repeats(rank, 1);
  const std::size_t axis = TRY(axis_of(TRY(integer_from(frame.in(2), "axis")), rank));
  repeats[axis] = TRY(integer_from(frame.in(1), "tiles"));
  return repeats;
}

Result<void> run_tile(Frame& frame) {
  const Array& input = frame.in(0);
  const std::size_t rank = input.rank();
  const Dims repeats = TRY(repeats_of(frame));
  if (repeats.size() != rank)
    return wrong(fmt::format("{} repeats are given for a tensor of rank {}", repeats.size(), rank));
  if (2 * rank > Dims::kCapacity) return wrong(fmt::format("the input has rank {}", rank), "at most 16");
  Dims dims, sizes, from;  // two per axis: the repeats, then the axis itself
  const Dims strides = strides_of(input.dims());
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size = checked_mul(input.dim(i), repeats[i]);
    if (!size || repeats[i] < 0)
      return wrong(fmt::format("repeats are {}", to_string(repeats)), "integers from 0, not too large");
    dims.push_back(*size);
    sizes.push_back(repeats[i]);
    sizes.push_back(input.dim(i));
    from.push_back(0);
    from.push_back(strides[i]);
  }
  if (dims == input.dims()) return frame.share(0, 0, dims);
  Array* out = TRY(frame.out(0, input.type(), dims));
  copy_view(frame, sizes, input, {0, from}, *out, {0, strides_of(sizes)});
  return {};
}

// [a, b] tiled r and s times is [r, a, s, b] in memory.
Result<void> tile_gradient(Gradient& g) {
  const auto rank = g.in(0).shape ? std::optional(g.in(0).shape->size()) : std::nullopt;
  if (!rank) return wrong("the rank of input 0 is not known before the model runs");
  const std::string one = g.integers({1});
  const std::string repeats = g.add("Unsqueeze", {g.input(1), one});
  const std::string sizes = g.add("Unsqueeze", {g.shape(g.input(0)), one});
  const std::string pairs = g.add("Concat", {repeats, sizes}, {graph::attribute("axis", std::int64_t{1})});
  const std::string whole = g.add("Reshape", {pairs, g.integers({-1})});
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < *rank; ++i) axes.push_back(static_cast<std::int64_t>(2 * i));
  const std::string spread =
      g.add("Reshape", {g.dy(), whole}, {graph::attribute("allowzero", std::int64_t{1})});
  if (axes.empty()) {
    g.set(0, spread);
    return {};
  }
  g.set(0, g.add("ReduceSum", {spread, g.integers(axes)}, {graph::attribute("keepdims", std::int64_t{0})}));
  return {};
}

}  // namespace

std::span<const Descriptor> expand_descriptors() {
  static const Descriptor all[] = {
      {.name = "Expand",
       .domain = "",
       .since = {8, 13},
       .infer = infer_expand,
       .run = run_expand,
       .required = 2,
       .traits = moves({.since = 8}),
       .gradient = gradient_unchanged},
      {.name = "Tile",
       .domain = "",
       .since = {1, 6, 13},
       .infer = infer_tile,
       .run = run_tile,
       .required = 2,
       .traits = moves({.since = 6}),
       .gradient = tile_gradient},
  };
  return all;
}

}  // namespace anybit::ops
