// How pools see their input: in whatever layout it is, as maps of lanes.
#pragma once

#include "kernels/pool.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// An input of rank 3 to 5, with the window of kernel_shape and the other attributes over it.
Result<kernels::PoolSizes> pool_sizes(const Frame& frame, const Array& x);
// All of space as one axis, with one window over it. The input has at least batch and channels.
Result<kernels::PoolSizes> global_sizes(const Array& x);
// [batch, channels, 1, 1, …]
Dims global_dims(const Dims& x);

// 16-bit floats are pooled as float32: `body(x, y)` gets two arrays of float32, float64 or an integer type,
// in the input's layout; y, of `dims`, becomes output 0.
Result<void> with_computed(Frame& frame, const Array& x, const Dims& dims,
                           const FunctionRef<const Array&, Array&>& body);

}  // namespace anybit::ops
