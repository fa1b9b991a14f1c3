// MaxRoiPool: max pooling over a grid of bins in each region. ONNX: MaxRoiPool-1, -22.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/move/data_movement.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Values regions(const Call& call, const Dim& height, const Dim& width) {
  const auto& x = call.in(0).shape;
  const auto& boxes = call.in(1).shape;
  const Dim count = boxes && !boxes->empty() ? boxes->front() : Dim();
  return outputs_of(
      call, tensor(call.in(0).type, Shape{count, x && x->size() == 4 ? (*x)[1] : Dim(), height, width}));
}

Result<Values> infer_roi_pool(const Call& call) {
  const auto size = call.integers("pooled_shape");
  if (!size || size->size() != 2) return wrong("pooled_shape must hold height and width");
  return regions(call, (*size)[0], (*size)[1]);
}

// A region: index of the image, then left, top, right, bottom in pixels.
struct Region {
  std::int64_t batch;
  double left, top, right, bottom;
};

// Begin and end of bin i of n in a stretch of `length` pixels from `start`, clamped to the image.
std::pair<std::int64_t, std::int64_t> part_of(std::int64_t i, std::int64_t n, double start, double length,
                                              std::int64_t size) {
  const double part = length / static_cast<double>(n), limit = static_cast<double>(size);
  const double first = std::floor(static_cast<double>(i) * part) + start;
  const double last = std::ceil(static_cast<double>(i + 1) * part) + start;
  return {static_cast<std::int64_t>(std::clamp(first, 0.0, limit)),
          static_cast<std::int64_t>(std::clamp(last, 0.0, limit))};
}

template <class T>
Result<Region> region_of(const Array& rois, std::int64_t index, double scale, std::int64_t batches) {
  std::array<double, 5> five;
  for (std::size_t i = 0; i < 5; ++i)
    five[i] = static_cast<double>(
        static_cast<Computed<T>>(rois.data<T>()[index * 5 + static_cast<std::int64_t>(i)]));
  if (!(five[0] >= 0 && five[0] < static_cast<double>(batches)))
    return wrong(fmt::format("a region refers to image {}", five[0]), fmt::format("below {}", batches));
  for (std::size_t i = 1; i < 5; ++i) {
    five[i] = std::round(five[i] * scale);
    if (!std::isfinite(five[i])) return wrong("a region has a coordinate that is NaN or infinity");
  }
  return Region{static_cast<std::int64_t>(five[0]), five[1], five[2], five[3], five[4]};
}

template <class T>
Result<void> pool(Frame& frame, std::int64_t rows, std::int64_t columns, Array& out) {
  const Array& x = frame.in(0);
  const std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  const double scale = frame.real("spatial_scale", 1);
  T* to = out.mutable_data<T>();
  for (std::int64_t r = 0; r < out.dim(0); ++r) {
    const Region region = TRY(region_of<T>(frame.in(1), r, scale, x.dim(0)));
    const double high = std::max(region.bottom - region.top + 1, 1.0),
                 wide = std::max(region.right - region.left + 1, 1.0);
    for (std::int64_t c = 0; c < channels; ++c) {
      const T* image = x.data<T>() + (region.batch * channels + c) * height * width;
      for (std::int64_t p = 0; p < rows * columns; ++p) {
        const auto [top, bottom] = part_of(p / columns, rows, region.top, high, height);
        const auto [left, right] = part_of(p % columns, columns, region.left, wide, width);
        T most = static_cast<T>(static_cast<Computed<T>>(0));
        for (std::int64_t i = top; i < bottom; ++i) {
          for (std::int64_t k = left; k < right; ++k) {
            const T pixel = image[i * width + k];
            if ((i == top && k == left) || static_cast<Computed<T>>(pixel) > static_cast<Computed<T>>(most))
              most = pixel;
          }
        }
        *to++ = most;
      }
    }
  }
  return {};
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const Array& rois = frame.in(1);
  const auto size = frame.ints("pooled_shape");
  if (!size || size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1)
    return wrong("pooled_shape must hold height and width");
  if (x.rank() != 4 || rois.rank() != 2 || rois.dim(1) != 5 || rois.type() != x.type()) {
    return wrong(fmt::format("inputs are {} and {}", to_string(frame.datum(0)), to_string(frame.datum(1))),
                 "an image [N, C, H, W] and regions [R, 5] of the same type");
  }
  if (!for_real(x.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out(0, x.type(), {rois.dim(0), x.dim(1), (*size)[0], (*size)[1]}));
  Result<void> result;
  for_real(x.type(), [&]<class T>(T) { result = pool<T>(frame, (*size)[0], (*size)[1], *out); });
  return result;
}

}  // namespace

std::span<const Descriptor> max_roi_pool_descriptors() {
  static const Descriptor all[] = {{.name = "MaxRoiPool",
                                    .domain = "",
                                    .since = {1, 22},
                                    .infer = infer_roi_pool,
                                    .run = run,
                                    .pairwise = true,
                                    .required = 2,
                                    .traits = moves()}};
  return all;
}

}  // namespace anybit::ops
