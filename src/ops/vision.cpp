// Sampling from images: GridSample, RoiAlign, MaxRoiPool.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The grid's last axis holds coordinates; its others replace the image's space.
Result<Values> infer_grid_sample(const Call& call) {
  const auto& x = call.in(0).shape;
  const auto& grid = call.in(1).shape;
  if (!x || !grid) return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  if (x->size() < 3 || grid->size() != x->size()) {
    return wrong(fmt::format("the input has rank {}, the grid {}", x->size(), grid->size()));
  }
  Shape shape{(*x)[0], (*x)[1]};
  shape.insert(shape.end(), grid->begin() + 1, grid->end() - 1);
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

Values regions(const Call& call, const Dim& height, const Dim& width) {
  const auto& x = call.in(0).shape;
  const auto& boxes = call.in(1).shape;
  const Dim count = boxes && !boxes->empty() ? boxes->front() : Dim();
  return outputs_of(
      call, tensor(call.in(0).type, Shape{count, x && x->size() == 4 ? (*x)[1] : Dim(), height, width}));
}

Result<Values> infer_roi_align(const Call& call) {
  return regions(call, call.integer("output_height", 1), call.integer("output_width", 1));
}

Result<Values> infer_roi_pool(const Call& call) {
  const auto size = call.integers("pooled_shape");
  if (!size || size->size() != 2) return wrong("pooled_shape must hold height and width");
  return regions(call, (*size)[0], (*size)[1]);
}

}  // namespace

std::span<const Descriptor> vision_descriptors() {
  static const Descriptor all[] = {
      {.name = "GridSample", .domain = "", .since = {16, 20, 22}, .infer = infer_grid_sample},
      {.name = "RoiAlign", .domain = "", .since = {10, 16, 22}, .infer = infer_roi_align},
      {.name = "MaxRoiPool", .domain = "", .since = {1, 22}, .infer = infer_roi_pool},
  };
  return all;
}

}  // namespace anybit::ops
