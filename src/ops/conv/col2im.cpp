// Col2Im: sums columns of overlapping blocks into an image. ONNX: Col2Im-18.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/move/scatter_reduction.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const auto& image = call.in(1).elements;
  const auto& input = call.in(0).shape;
  if (!image) return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  Shape shape{input && !input->empty() ? (*input)[0] : Dim(), Dim()};
  if (const auto& block = call.in(2).elements; block && input && input->size() == 3)
    shape[1] = floor_div((*input)[1], product(*block));
  shape.insert(shape.end(), image->begin(), image->end());
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

constexpr std::int64_t kLargest = INT32_MAX;  // of a size, so that sums of products do not overflow

struct Axis {
  std::int64_t image, block, stride, dilation, before, columns;
};

struct Blocks {
  std::array<Axis, Dims::kCapacity> axes;
  std::size_t count = 0;
  std::int64_t image = 1, block = 1, columns = 1;
};

Result<Blocks> blocks_of(const Frame& frame) {
  const Dims image = TRY(dims_from(frame.in(1), "image_shape")),
             block = TRY(dims_from(frame.in(2), "block_shape"));
  const std::size_t count = image.size();
  const Dims strides = TRY(dims_of(frame, SIZE_MAX, "strides")).value_or(Dims(count, 1));
  const Dims dilations = TRY(dims_of(frame, SIZE_MAX, "dilations")).value_or(Dims(count, 1));
  const auto given = TRY(dims_of(frame, SIZE_MAX, "pads"));
  if (count > 16 || block.size() != count || strides.size() != count || dilations.size() != count ||
      (given && given->size() != 2 * count))
    return wrong("image_shape, block_shape, strides, dilations and pads differ in number");
  Blocks blocks;
  blocks.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t before = given ? (*given)[i] : 0, after = given ? (*given)[count + i] : 0;
    const auto fits = [](std::int64_t size, std::int64_t least) { return size >= least && size < kLargest; };
    const bool all = fits(image[i], 1) && fits(block[i], 1) && fits(strides[i], 1) && fits(dilations[i], 1) &&
                     fits(before, 0) && fits(after, 0);
    if (!all) return wrong("a size, stride, dilation or pad is out of range");
    const std::int64_t room = image[i] + before + after - dilations[i] * (block[i] - 1) - 1;
    if (room < 0) return wrong(fmt::format("no block fits on axis {}", i));
    blocks.axes[i] = {image[i], block[i], strides[i], dilations[i], before, room / strides[i] + 1};
    const auto pixels = checked_mul(blocks.image, image[i]), in_block = checked_mul(blocks.block, block[i]),
               columns = checked_mul(blocks.columns, blocks.axes[i].columns);
    if (!pixels || !in_block || !columns) return wrong("the image is too large");
    blocks.image = *pixels;
    blocks.block = *in_block;
    blocks.columns = *columns;
  }
  return blocks;
}

// The image offset of position `offset` of a block in column `column`; -1 in the padding.
std::int64_t pixel_of(const Blocks& blocks, std::int64_t offset, std::int64_t column) {
  std::int64_t at = 0, step = 1;
  for (std::size_t i = blocks.count; i-- > 0;) {
    const Axis& axis = blocks.axes[i];
    const std::int64_t place =
        column % axis.columns * axis.stride - axis.before + offset % axis.block * axis.dilation;
    if (place < 0 || place >= axis.image) return -1;
    at += place * step;
    step *= axis.image;
    column /= axis.columns;
    offset /= axis.block;
  }
  return at;
}

Result<void> run(Frame& frame) {
  const Array& input = frame.in(0);
  const Blocks blocks = TRY(blocks_of(frame));
  if (input.rank() != 3 || input.dim(1) % blocks.block != 0 || input.dim(2) != blocks.columns) {
    return wrong(fmt::format("the input is {}", to_string(frame.datum(0))),
                 fmt::format("[batch, channels * {}, {}]", blocks.block, blocks.columns));
  }
  const std::int64_t channels = input.dim(1) / blocks.block;
  Dims dims{input.dim(0), channels};
  for (std::size_t i = 0; i < blocks.count; ++i) dims.push_back(blocks.axes[i].image);
  if (!for_number(input.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, input.type(), dims));
  for_number(input.type(), [&]<class T>(T) {
    using C = Computed<T>;
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t plane = first; plane < last; ++plane) {
        T* image = out->mutable_data<T>() + plane * blocks.image;
        const T* from = input.data<T>() + plane * blocks.block * blocks.columns;
        std::fill_n(image, blocks.image, static_cast<T>(C(0)));
        for (std::int64_t i = 0; i < blocks.block * blocks.columns; ++i) {
          const std::int64_t at = pixel_of(blocks, i / blocks.columns, i % blocks.columns);
          if (at >= 0) image[at] = static_cast<T>(added(C(image[at]), C(from[i])));
        }
      }
    };
    const double cost = 5.0 * static_cast<double>(blocks.block) * static_cast<double>(blocks.columns);
    parallel(frame, input.dim(0) * channels, cost, std::ref(body));
  });
  return {};
}

}  // namespace

std::span<const Descriptor> col2im_descriptors() {
  static const Descriptor all[] = {{.name = "Col2Im",
                                    .domain = "",
                                    .since = {18},
                                    .infer = infer,
                                    .run = run,
                                    .pairwise = true,
                                    .required = 3,
                                    .traits = computes()}};
  return all;
}

}  // namespace anybit::ops
