// Float 3 x 3 convolution by Winograd's F(4 x 4, 3 x 3) (S. Winograd, Arithmetic Complexity of Computations,
// 1980), with a quarter of the multiplications. The interpolation points are 0, ±5/8, ±3/2 and infinity: the
// usual 0, ±1, ±2 have three times their error (docs/speed.md).
#pragma once

#include "kernels/conv/conv_float.hpp"
#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

class FloatWinogradWeights {
 public:
  // Depends on the weights only: one group, 3 x 3, enough channels to pay off.
  static bool fit(const ConvSizes& sizes);
  static std::int64_t bytes(std::int64_t outputs, std::int64_t inputs);
  // `weights`: [outputs][inputs][3][3]. `to` has bytes(…) bytes.
  static void transform(std::int64_t outputs, std::int64_t inputs, const float* weights, float* to);
};

// Whether it is faster than direct convolution, by the sizes: strides and dilations of 1, and enough tiles
// for the larger weights.
bool float_winograd_pays(const ConvSizes& sizes);

struct FloatWinogradWork {
  const FloatConvWork& conv;  // with the weights of direct convolution, for tiles that are not finite
  const float* weights;       // [place of a tile][panel][input channel][16]
};
// A NaN or an infinity reaches the same results as by direct convolution: a tile with a result that is not
// finite is computed directly.
void conv_winograd_float(const FloatWinogradWork& work, ThreadPool& pool);

}  // namespace anybit::kernels
