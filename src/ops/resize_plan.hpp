// A run of Resize or Upsample: what becomes of each axis, and how the output is made from that.
#pragma once

#include <array>

#include "ops/resize_axis.hpp"

namespace anybit::ops {

struct ResizePlan {
  ResizeRule rule;
  Layout layout = Layout::plain;
  Dims dims;                                     // of the output
  Dims from, to;                                 // of both, as they are stored
  std::array<ResizeAxis, Dims::kCapacity> axes;  // as they are stored

  bool still() const;
};

// From the node's attributes and inputs. An input whose layout does not allow it is made plain.
Result<ResizePlan> resize_plan(Frame& frame);

Result<void> resize_nearest(Frame& frame, const ResizePlan& plan, Array& out);
Result<void> resize_weighted(Frame& frame, const ResizePlan& plan, Array& out);
// What lies outside the input under tf_crop_and_resize.
Result<void> extrapolate(Frame& frame, const ResizePlan& plan, Array& out);

}  // namespace anybit::ops
