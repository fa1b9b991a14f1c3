// Resize, mode nearest.
#include <algorithm>

#include "ops/vision/resize_plan.hpp"

namespace anybit::ops {
namespace {

using Places = std::array<std::span<const std::int64_t>, Dims::kCapacity>;

// The repeat count if the last axis is only repeated elementwise; else 0.
std::int64_t repeats(std::span<const std::int64_t> places, std::int64_t in) {
  const auto times = std::ssize(places) / std::max<std::int64_t>(in, 1);
  if (times * in != std::ssize(places)) return 0;
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (places[j] != static_cast<std::int64_t>(j) / times) return 0;
  }
  return times;
}

template <class T>
void pick_pieces(const T* row, std::span<const std::int64_t> places, std::int64_t piece, T* to) {
  if (piece == 8) {  // a channel block: compile-time size
    for (std::size_t j = 0; j < places.size(); ++j) std::copy_n(row + places[j] * 8, 8, to + j * 8);
    return;
  }
  for (const std::int64_t place : places) to = std::copy_n(row + place * piece, piece, to);
}

// Row by row; a row with the same source as the previous one is copied from that.
template <class T>
void pick_rows(const Frame& frame, const ResizePlan& plan, const Places& places, Array& out) {
  const Array& input = frame.in(0);
  // Rows end at the last resized axis; the axes after it are copied in one piece.
  std::size_t last = plan.to.size() - 1;
  while (last > 0 && plan.axes[last].still(plan.rule)) --last;
  const std::int64_t piece = plan.to.product(last + 1, plan.to.size());
  const std::int64_t width = plan.to[last] * piece, rows = plan.to.product(0, last);
  const std::int64_t times = repeats(places[last], plan.from[last]);
  const Dims strides = strides_of(plan.from);
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    std::int64_t before = -1;
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, at = 0;
      for (std::size_t i = last; i-- > 0;) {
        at += places[i][static_cast<std::size_t>(rest % plan.to[i])] * strides[i];
        rest /= plan.to[i];
      }
      T* to = out.mutable_data<T>() + row * width;
      if (at == before) {
        std::copy_n(to - width, width, to);
      } else if (piece > 1) {
        pick_pieces(input.data<T>() + at, places[last], piece, to);
      } else if (times > 0) {
        kernels::repeat_row(input.data<T>() + at, plan.from[last], times, to);
      } else {
        kernels::pick_row(input.data<T>() + at, places[last], to);
      }
      before = at;
    }
  };
  parallel(frame, rows, 10.0 + 0.3 * static_cast<double>(width), std::ref(body));
}

}  // namespace

Result<void> extrapolate(Frame& frame, const ResizePlan& plan, Array& out) {
  if (plan.rule.coordinates != ResizeRule::Coordinates::tf_crop_and_resize) return {};
  std::array<std::span<bool>, Dims::kCapacity> outside;
  for (std::size_t i = 0; i < plan.to.size(); ++i) {
    outside[i] = TRY(frame.scratch_of<bool>(plan.to[i]));
    for (std::int64_t j = 0; j < plan.to[i]; ++j)
      outside[i][static_cast<std::size_t>(j)] = plan.axes[i].outside(plan.rule, j);
  }
  for_number(out.type(), [&]<class T>(T) {
    const T value = static_cast<T>(static_cast<Computed<T>>(plan.rule.extrapolation));
    for (std::int64_t at = 0; at < out.stored(); ++at) {
      std::int64_t rest = at;
      for (std::size_t i = plan.to.size(); i-- > 0; rest /= plan.to[i]) {
        if (outside[i][static_cast<std::size_t>(rest % plan.to[i])]) out.mutable_data<T>()[at] = value;
      }
    }
  });
  return {};
}

Result<void> resize_nearest(Frame& frame, const ResizePlan& plan, Array& out) {
  Places places;
  for (std::size_t i = 0; i < plan.to.size(); ++i) {
    places[i] = TRY(nearest_places(frame, plan.rule, plan.axes[i]));
  }
  for_copied(out.type(), [&]<class T>(T) { pick_rows<T>(frame, plan, places, out); });
  return extrapolate(frame, plan, out);
}

}  // namespace anybit::ops
