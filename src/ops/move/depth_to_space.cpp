// DepthToSpace and SpaceToDepth: moves spatial blocks to channels and back. ONNX: -1 … -13.
#include "base/checked.hpp"
#include "ops/gradient.hpp"
#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_blocks(const Call& call, bool to_space) {
  const Value& input = call.in(0);
  if (!input.shape) return outputs_of(call, tensor(input.type, unknown_shape(4)));
  if (input.shape->size() != 4) return wrong("the input must have batch, channels, height and width");
  const Shape& in = *input.shape;
  const Dim block = call.integer("blocksize", 0);
  const Dim area = block * block;
  Shape shape = to_space ? Shape{in[0], floor_div(in[1], area), in[2] * block, in[3] * block}
                         : Shape{in[0], in[1] * area, floor_div(in[2], block), floor_div(in[3], block)};
  return outputs_of(call, tensor(input.type, std::move(shape)));
}
Result<Values> infer_depth_to_space(const Call& call) { return infer_blocks(call, true); }
Result<Values> infer_space_to_depth(const Call& call) { return infer_blocks(call, false); }

Result<std::int64_t> block_of(const Frame& frame) {
  if (frame.in(0).rank() != 4) return wrong("the input must have batch, channels, height and width");
  const std::int64_t block = frame.integer("blocksize", 0);
  if (block < 1 || block > INT32_MAX) return wrong(fmt::format("blocksize is {}", block), "1 or more");
  return block;
}

// The output's element (n, c, y·b + i, x·b + j) is the input's (n, channel(c, i, j), y, x).
Result<void> run_depth_to_space(Frame& frame) {
  const Array& input = frame.in(0);
  const std::int64_t block = TRY(block_of(frame)), area = block * block;
  const std::int64_t batch = input.dim(0), channels = input.dim(1) / area, height = input.dim(2),
                     width = input.dim(3), plane = height * width;
  if (input.dim(1) % area != 0) {
    return wrong(fmt::format("{} channels do not divide into blocks of {}x{}", input.dim(1), block, block));
  }
  const auto rows = checked_mul(height, block), columns = checked_mul(width, block);
  if (!rows || !columns) return wrong("the output is too large");
  const std::string_view mode = frame.text("mode", "DCR");
  const bool depth_first = mode == "DCR";
  if (!depth_first && mode != "CRD") return wrong(fmt::format("mode is '{}'", mode), "DCR or CRD");
  Array* out = TRY(frame.out(0, input.type(), {batch, channels, *rows, *columns}));
  const std::int64_t step_c = depth_first ? plane : area * plane;
  const std::int64_t step_j = depth_first ? channels * plane : plane;
  const Dims sizes{batch, channels, height, block, width, block};
  copy_view(frame, sizes, input, {0, {channels * area * plane, step_c, width, block * step_j, 1, step_j}},
            *out, {0, strides_of(sizes)});
  return {};
}

Result<void> run_space_to_depth(Frame& frame) {
  const Array& input = frame.in(0);
  const std::int64_t block = TRY(block_of(frame));
  const std::int64_t batch = input.dim(0), channels = input.dim(1), height = input.dim(2),
                     width = input.dim(3);
  if (height % block != 0 || width % block != 0) {
    return wrong(fmt::format("{}x{} does not divide into blocks of {}x{}", height, width, block, block));
  }
  const auto depth = checked_mul(block * block, channels);
  if (!depth) return wrong("the output is too large");
  const std::int64_t rows = height / block, columns = width / block;
  Array* out = TRY(frame.out(0, input.type(), {batch, *depth, rows, columns}));
  const Dims sizes{batch, block, block, channels, rows, columns};
  const std::int64_t plane = height * width;
  copy_view(frame, sizes, input, {0, {channels * plane, width, 1, plane, block * width, block}}, *out,
            {0, strides_of(sizes)});
  return {};
}

Result<void> depth_to_space_gradient(Gradient& g) {
  const std::int64_t block = g.integer("blocksize", 0);
  const std::string back = g.add("SpaceToDepth", {g.dy()}, attributes_of(g, {"blocksize"}));
  if (g.text("mode", "DCR") == "DCR") {
    g.set(0, back);
    return {};
  }
  // SpaceToDepth puts the channels behind the places in a block, this mode before them.
  const auto& shape = g.in(0).shape;
  if (!shape || shape->size() != 4 || !(*shape)[1].known())
    return wrong("the number of channels is not known before the model runs");
  const std::int64_t area = block * block, channels = *(*shape)[1].size / area;
  const std::string apart = g.add("Reshape", {back, g.integers({0, area, channels, -1})});
  const std::string turned =
      g.add("Transpose", {apart}, {graph::attribute("perm", std::vector<std::int64_t>{0, 2, 1, 3})});
  g.set(0, g.add("Reshape", {turned, g.shape(g.input(0))}));
  return {};
}

Result<void> space_to_depth_gradient(Gradient& g) {
  g.set(0, g.add("DepthToSpace", {g.dy()}, attributes_of(g, {"blocksize"})));
  return {};
}

}  // namespace

std::span<const Descriptor> depth_to_space_descriptors() {
  static const Descriptor all[] = {
      {.name = "DepthToSpace",
       .domain = "",
       .since = {1, 11, 13},
       .infer = infer_depth_to_space,
       .run = run_depth_to_space,
       .traits = moves({.since = 1}),
       .gradient = depth_to_space_gradient},
      {.name = "SpaceToDepth",
       .domain = "",
       .since = {1, 13},
       .infer = infer_space_to_depth,
       .run = run_space_to_depth,
       .traits = moves({.since = 1}),
       .gradient = space_to_depth_gradient},
  };
  return all;
}

}  // namespace anybit::ops
