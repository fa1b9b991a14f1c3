// One axis of Resize: input coordinates of each output index, and the weights of its neighbours.
#pragma once

#include "kernels/conv/resize.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// The attributes of Resize, including those of older versions and of Upsample.
struct ResizeRule {
  enum class Mode : std::uint8_t { nearest, linear, cubic } mode = Mode::nearest;
  enum class Coordinates : std::uint8_t {
    half_pixel,
    half_pixel_symmetric,
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    tf_half_pixel_for_nn,
    tf_crop_and_resize,
  } coordinates = Coordinates::half_pixel;
  // `simple`: floor when upsampling, ceil when downsampling, as before version 11.
  enum class Nearest : std::uint8_t {
    prefer_floor,
    prefer_ceil,
    floor,
    ceil,
    simple
  } nearest = Nearest::prefer_floor;
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75;
  double extrapolation = 0;
};

// `old`: Upsample, and Resize before version 11, have only the attribute `mode`.
Result<ResizeRule> resize_rule(const Frame& frame, bool old);

struct ResizeAxis {
  std::int64_t in = 0, out = 0;
  double scale = 1;
  double start = 0, end = 1;  // the region of interest

  bool still(const ResizeRule& rule) const {
    return in == out && scale == 1 && rule.coordinates != ResizeRule::Coordinates::tf_crop_and_resize;
  }
  // The input coordinate of output index j.
  double place(const ResizeRule& rule, std::int64_t j) const;
  // Whether tf_crop_and_resize extrapolates there.
  bool outside(const ResizeRule& rule, std::int64_t j) const;
};

// Input indices for mode nearest, clamped to the input.
Result<std::span<const std::int64_t>> nearest_places(Frame& frame, const ResizeRule& rule,
                                                     const ResizeAxis& axis);
template <class T>
Result<kernels::Taps<T>> resize_taps(Frame& frame, const ResizeRule& rule, const ResizeAxis& axis);

}  // namespace anybit::ops
