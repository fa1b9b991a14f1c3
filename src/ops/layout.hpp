// Conversion of tensors between memory layouts.
#pragma once

#include "ops/frame.hpp"

namespace anybit::ops {

// `to` has the same type and dims as `from`. Padding channels become zero.
void convert_layout(const Array& from, Array& to, ThreadPool* pool = nullptr);
// Zeroes the padding channels: convolutions multiply them by zero, which does not remove infinity and NaN.
// For operators that process all stored elements.
void clear_padding(Array& array);

// Scratch array, valid until the node is done.
Result<Array> scratch_array(Frame& frame, ElementType type, const Dims& dims, Layout layout);
// The array itself if it is in that layout, else a copy in scratch memory. Arrays with one element per image
// and channel are identical in every layout.
Result<Array> in_layout(Frame& frame, const Array& array, Layout layout);

}  // namespace anybit::ops
