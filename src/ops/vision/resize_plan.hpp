// The plan of one run of Resize or Upsample: sizes and interpolation of each axis.
#pragma once

#include <array>

#include "ops/vision/resize_axis.hpp"

namespace anybit::ops {

struct ResizePlan {
  ResizeRule rule;
  Layout layout = Layout::plain;
  Dims dims;                                     // dims of the output
  Dims from, to;                                 // dims of input and output in storage order
  std::array<ResizeAxis, Dims::kCapacity> axes;  // in storage order

  bool still() const;
};

// Reads the node's attributes and inputs. Converts the input to the plain layout if the resize needs it.
Result<ResizePlan> resize_plan(Frame& frame);
// The plan of the resize whose gradient is input 0, for an input of these dims: roi, scales and sizes are
// inputs 2, 3 and 4. `layout` is that of the gradient.
Result<ResizePlan> resize_plan_of_gradient(Frame& frame, const Dims& input);

Result<void> resize_nearest(Frame& frame, const ResizePlan& plan, Array& out);
Result<void> resize_weighted(Frame& frame, const ResizePlan& plan, Array& out);
// Fills output elements outside the input with extrapolation_value (tf_crop_and_resize).
Result<void> extrapolate(Frame& frame, const ResizePlan& plan, Array& out);

}  // namespace anybit::ops
