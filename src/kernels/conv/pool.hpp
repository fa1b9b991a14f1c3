// Pooling over windows and global pooling. A tensor is maps of [space][lanes]; lanes are adjacent channels (1
// for NCHW, 8 if blocked, all of them for channels-last).
#pragma once

#include "kernels/conv/window.hpp"

namespace anybit::kernels {

struct PoolSizes {
  Window window;
  std::int64_t maps = 1, lanes = 1;
  std::int64_t rows() const { return maps * window[0].output * window[1].output; }
};

// Rows [first, last) of PoolSizes::rows(). T: float, double, std::int8_t, std::uint8_t. NaN propagates. A
// window entirely in the padding gives the lowest value of the type.
template <class T>
void max_pool(const PoolSizes& sizes, const T* x, std::int64_t first, std::int64_t last, T* y);
// T: float, double. `include_padding`: the padding counts as zeros.
template <class T>
void average_pool(const PoolSizes& sizes, bool include_padding, const T* x, std::int64_t first,
                  std::int64_t last, T* y);
// (Σ |x|^p)^(1/p). T: float, double.
template <class T>
void lp_pool(const PoolSizes& sizes, double p, const T* x, std::int64_t first, std::int64_t last, T* y);
// Exact sums of (x - zero_point), for pools of quantized tensors. T: std::int8_t, std::uint8_t.
template <class T>
void sum_pool(const PoolSizes& sizes, std::int32_t zero_point, const T* x, std::int64_t first,
              std::int64_t last, std::int64_t* sums);

// Reduces all positions of one map, per lane, with sums in double. T: float, double.
template <class T>
void mean_over(const T* x, std::int64_t space, std::int64_t lanes, T* y);
template <class T>
void most_over(const T* x, std::int64_t space, std::int64_t lanes, T* y);

// The divisor of an average at an output.
std::int64_t pool_count(const Window& window, bool include_padding, std::int64_t od, std::int64_t oh,
                        std::int64_t ow);

}  // namespace anybit::kernels
