// RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR, DEPTH_TO_SPACE, SPACE_TO_DEPTH, SPACE_TO_BATCH_ND,
// BATCH_TO_SPACE_ND.
#include "base/error.hpp"
#include "base/try.hpp"
#include "tflite/table.hpp"

namespace anybit::tflite {
namespace {

using graph::attribute;

// Where a pixel of the result lies in the input.
std::string coordinates(bool align_corners, bool half_pixel_centers) {
  if (align_corners) return "align_corners";
  return half_pixel_centers ? "half_pixel" : "asymmetric";
}

// All four sizes of the result. Its height and width are input 1; ONNX Runtime fails on the attribute `axes`,
// by which they would do alone.
Result<std::string> resized_shape(OperatorReader& here, const std::string& x) {
  const Dims& dims = here.in(0).dims;
  if (here.constant(1) && dims[0] >= 0 && dims[3] >= 0) {
    const Dims size = TRY(here.integers(1));
    if (size.size() != 2) return here.invalid("its size is not two numbers");
    return here.graph().integers({dims[0], dims[3], size[0], size[1]});
  }
  const std::string size = TRY(here.indices(1));
  const std::string kept = here.emit("Shape", {x}, {attribute("end", std::int64_t{2})});
  return here.emit("Concat", {kept, size}, {attribute("axis", std::int64_t{0})});
}

Result<void> resize(OperatorReader& here, std::vector<graph::Attribute> attributes) {
  if (here.in(0).rank() != 4) return here.invalid("its input needs 4 dimensions");
  const std::string x = TRY(here.value(0, Layout::channels_first));
  const std::string shape = TRY(resized_shape(here, x));
  return here.define(here.emit("Resize", {x, "", "", shape}, std::move(attributes)), Layout::channels_first);
}

Result<void> read_resize_bilinear(OperatorReader& here) {
  const auto& options = here.options<wire::ResizeBilinearOptions>();
  return resize(here, {attribute("mode", std::string("linear")),
                       attribute("coordinate_transformation_mode",
                                 coordinates(options.align_corners(), options.half_pixel_centers()))});
}

// Rounded down without options; halves are rounded up otherwise.
Result<void> read_resize_nearest(OperatorReader& here) {
  const auto& options = here.options<wire::ResizeNearestNeighborOptions>();
  const bool rounds = options.align_corners() || options.half_pixel_centers();
  return resize(here, {attribute("mode", std::string("nearest")),
                       attribute("coordinate_transformation_mode",
                                 coordinates(options.align_corners(), options.half_pixel_centers())),
                       attribute("nearest_mode", std::string(rounds ? "round_prefer_ceil" : "floor"))});
}

template <class Options, const char* op>
Result<void> read_blocks(OperatorReader& here) {
  const std::int64_t size = here.options<Options>().block_size();
  if (size < 1) return here.invalid(fmt::format("its block size is {}", size));
  return here.define(
      here.emit(op, {TRY(here.value(0, Layout::channels_first))}, {attribute("blocksize", size)}),
      Layout::channels_first);
}

// Block sizes of the spatial axes, and two numbers for each in front of and behind them: pads, or rows to cut
// off.
struct Blocks {
  Dims sizes, borders;
};

Result<Blocks> blocks_of(OperatorReader& here) {
  Blocks blocks;
  blocks.sizes = TRY(here.integers(1));
  blocks.borders = TRY(here.integers(2));
  const std::size_t axes = blocks.sizes.size();
  if (axes == 0 || axes + 2 > here.in(0).dims.size() || blocks.borders.size() != 2 * axes)
    return here.invalid("its blocks do not fit its input");
  for (const std::int64_t size : blocks.sizes) {
    if (size < 1) return here.invalid(fmt::format("a block has size {}", size));
  }
  for (std::size_t i = 1; i < here.in(0).dims.size(); ++i) {
    if (here.in(0).dims[i] < 1)
      return here.unsupported(fmt::format("the size of dimension {} is unknown", i));
  }
  return blocks;
}

// [batch, y·b, x·b, …] → [b, b, batch, y, x, …]
Result<void> read_space_to_batch(OperatorReader& here) {
  const Blocks blocks = TRY(blocks_of(here));
  const Dims& dims = here.in(0).dims;
  const std::size_t axes = blocks.sizes.size(), rank = dims.size();
  Dims pads(2 * rank, 0), split{dims[0]}, joined{-1}, order;
  std::int64_t place = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t size = dims[i + 1] + blocks.borders[2 * i] + blocks.borders[2 * i + 1];
    if (blocks.borders[2 * i] < 0 || blocks.borders[2 * i + 1] < 0 || size % blocks.sizes[i] != 0)
      return here.invalid("its blocks do not fit its input");
    pads[i + 1] = blocks.borders[2 * i];
    pads[rank + i + 1] = blocks.borders[2 * i + 1];
    split.push_back(size / blocks.sizes[i]), split.push_back(blocks.sizes[i]);
    joined.push_back(size / blocks.sizes[i]);
    order.push_back(place + 1);
    place += 2;
  }
  order.push_back(0);
  for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<std::int64_t>(2 * i + 1));
  for (std::size_t i = axes + 1; i < rank; ++i) {
    order.push_back(place++);
    split.push_back(dims[i]), joined.push_back(dims[i]);
  }
  std::string x = TRY(here.value(0));
  x = here.emit("Pad", {x, here.graph().integers(pads)});
  x = here.emit("Reshape", {x, here.graph().integers(split)});
  x = here.emit("Transpose", {x}, {attribute("perm", order)});
  return here.define(here.emit("Reshape", {x, here.graph().integers(joined)}));
}

// The reverse; borders are cut off.
Result<void> read_batch_to_space(OperatorReader& here) {
  const Blocks blocks = TRY(blocks_of(here));
  const Dims& dims = here.in(0).dims;
  const std::size_t axes = blocks.sizes.size(), rank = dims.size();
  const auto count = static_cast<std::int64_t>(axes);
  Dims split = blocks.sizes, joined{-1}, order{count}, starts, ends, cut;
  split.push_back(-1);
  for (std::size_t i = 1; i < rank; ++i) split.push_back(dims[i]);
  for (std::size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    order.push_back(count + 1 + axis), order.push_back(axis);
    const std::int64_t size = dims[i + 1] * blocks.sizes[i];
    joined.push_back(size);
    starts.push_back(blocks.borders[2 * i]), ends.push_back(size - blocks.borders[2 * i + 1]),
        cut.push_back(axis + 1);
    if (starts.back() < 0 || ends.back() > size) return here.invalid("it cuts off a negative number of rows");
  }
  for (std::size_t i = axes + 1; i < rank; ++i) {
    order.push_back(count + static_cast<std::int64_t>(i));
    joined.push_back(dims[i]);
  }
  GraphReader& graph = here.graph();
  std::string x = here.emit("Reshape", {TRY(here.value(0)), graph.integers(split)});
  x = here.emit("Transpose", {x}, {attribute("perm", order)});
  x = here.emit("Reshape", {x, graph.integers(joined)});
  return here.define(
      here.emit("Slice", {x, graph.integers(starts), graph.integers(ends), graph.integers(cut)}));
}

constexpr char kDepthToSpace[] = "DepthToSpace", kSpaceToDepth[] = "SpaceToDepth";

}  // namespace

std::span<const Descriptor> resize_descriptors() {
  using wire::BuiltinOperator;
  static const Descriptor all[] = {
      {.name = "RESIZE_BILINEAR",
       .code = BuiltinOperator::RESIZE_BILINEAR,
       .inputs = 2,
       .read = read_resize_bilinear},
      {.name = "RESIZE_NEAREST_NEIGHBOR",
       .code = BuiltinOperator::RESIZE_NEAREST_NEIGHBOR,
       .inputs = 2,
       .read = read_resize_nearest},
      {.name = "DEPTH_TO_SPACE",
       .code = BuiltinOperator::DEPTH_TO_SPACE,
       .inputs = 1,
       .read = read_blocks<wire::DepthToSpaceOptions, kDepthToSpace>},
      {.name = "SPACE_TO_DEPTH",
       .code = BuiltinOperator::SPACE_TO_DEPTH,
       .inputs = 1,
       .read = read_blocks<wire::SpaceToDepthOptions, kSpaceToDepth>},
      {.name = "SPACE_TO_BATCH_ND",
       .code = BuiltinOperator::SPACE_TO_BATCH_ND,
       .inputs = 3,
       .read = read_space_to_batch},
      {.name = "BATCH_TO_SPACE_ND",
       .code = BuiltinOperator::BATCH_TO_SPACE_ND,
       .inputs = 3,
       .read = read_batch_to_space},
  };
  return all;
}

}  // namespace anybit::tflite
