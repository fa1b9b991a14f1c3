// The input of a pooling operator in any layout: maps (one per batch and channel block) of lanes (channels
// stored together).
#pragma once

#include "kernels/conv/pool.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Sizes of a pool over an input of rank 3 to 5: kernel_shape and the other window attributes.
Result<kernels::PoolSizes> pool_sizes(const Frame& frame, const Array& x);
// Sizes of a global pool: space is one axis with one window over it. The input has at least batch and
// channels.
Result<kernels::PoolSizes> global_sizes(const Array& x);
// [batch, channels, 1, 1, …]
Dims global_dims(const Dims& x);

// Pools 16-bit floats as float32: `body(x, y)` gets two arrays of float32, float64 or an integer type in the
// input's layout; y, of `dims`, becomes output 0.
Result<void> with_computed(Frame& frame, const Array& x, const Dims& dims,
                           const FunctionRef<const Array&, Array&>& body);

}  // namespace anybit::ops
