// Convolution of 8-bit integers by a kernel of 3 x 3 with 4/9 of the products, exact: Winograd's F(2 x 2, 3 x
// 3) (S. Winograd, Arithmetic Complexity of Computations, 1980) with twice his matrix of the weights, so that
// all numbers are whole; the sums are four times the result.
#pragma once

#include "kernels/conv_whole.hpp"

namespace anybit::kernels {

class WinogradWeights {
 public:
  // What the weights tell: one group, 3 x 3, channels enough to pay, not so many that they take much memory.
  static bool fit(const ConvSizes& sizes);
  // `weights`: [outputs][channels][3][3], each of a magnitude of 255 at most.
  WinogradWeights(const ConvSizes& sizes, const std::int16_t* weights);

  // For each of the 16 places of a tile a matrix of channels by outputs, in panels as WholeRight has them.
  const std::int16_t* panel(std::int64_t place, std::int64_t index) const {
    return reinterpret_cast<const std::int16_t*>(memory_.get()) +
           (place * panels_ + index) * channels_ * kPanel;
  }
  std::int64_t bytes() const { return 16 * panels_ * channels_ * kPanel * 2; }
  // The largest sum of the convolution that is exact.
  static constexpr std::int64_t kLargestSum = (std::int64_t{1} << 29) - 1;

 private:
  std::int64_t channels_, panels_;
  AlignedBytes memory_;
};

// Strides and dilations of 1, and enough outputs to pay.
bool winograd_pays(const ConvSizes& sizes);
// The same with even outputs: so the input must be widened.
ConvSizes winograd_sizes(ConvSizes sizes);

struct WinogradTiles {
  const ConvRuns& runs;
  const std::int16_t* image;
  const WinogradWeights& weights;
  const WholeProduct& product;
};

// product: .m, .n, .c, .c_stride and .epilogue count. `runs` is of winograd_sizes.
void conv_winograd(const ConvRuns& runs, const std::int16_t* image, const WinogradWeights& weights,
                   const WholeProduct& product, ThreadPool& pool);

}  // namespace anybit::kernels
