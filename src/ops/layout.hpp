// Tensors from one layout to another.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// `to` has the same type and dims as `from`. Channels that are padding become zero.
void relay(const Array& from, Array& to, ThreadPool* pool = nullptr);
// Zeros where there are no channels: convolutions multiply them by zero, which infinity and NaN survive. For
// operators that went over all that is stored.
void clear_padding(Array& array);

// Memory for an intermediate result, until the node is done.
Result<Array> scratch_array(Frame& frame, ElementType type, const Dims& dims, Layout layout);
// The array itself if it is in that layout, else a copy in scratch memory. Arrays of one element for each
// channel and image are the same in every layout.
Result<Array> in_layout(Frame& frame, const Array& array, Layout layout);

}  // namespace anybit::ops
