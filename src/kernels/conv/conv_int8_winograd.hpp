// Exact 3 x 3 convolution of 8-bit integers by Winograd's F(2 x 2, 3 x 3) (S. Winograd, Arithmetic Complexity
// of Computations, 1980), with 4/9 of the multiplications. The weight transform uses twice his matrix, so
// that all values are integers; sums are four times the result.
#pragma once

#include "kernels/conv/conv_int8.hpp"

namespace anybit::kernels {

class WinogradWeights {
 public:
  // Depends on the weights only: one group, 3 x 3, enough channels to pay off, and not so many that the
  // memory is too large.
  static bool fit(const ConvSizes& sizes);
  // `weights`: [outputs][channels][3][3], each of magnitude 255 at most.
  WinogradWeights(const ConvSizes& sizes, const std::int16_t* weights);

  // For each of the 16 positions of a tile, a matrix of channels by outputs, in panels as in IntegerRhs.
  const std::int16_t* panel(std::int64_t place, std::int64_t index) const {
    return reinterpret_cast<const std::int16_t*>(memory_.get()) +
           (place * panels_ + index) * channels_ * kPanel;
  }
  std::int64_t bytes() const { return 16 * panels_ * channels_ * kPanel * 2; }
  // The largest sum of a convolution that is still exact.
  static constexpr std::int64_t kLargestSum = (std::int64_t{1} << 29) - 1;

 private:
  std::int64_t channels_, panels_;
  AlignedBytes memory_;
};

// Whether it pays off: strides and dilations of 1, and enough outputs.
bool winograd_pays(const ConvSizes& sizes);
// The same sizes with the output rounded up to even; the input is padded for that.
ConvSizes winograd_sizes(ConvSizes sizes);

struct WinogradTiles {
  const ConvRuns& runs;
  const std::int16_t* image;
  const WinogradWeights& weights;
  const IntegerGemmWork& work;
};

// work: only .m, .n, .c, .c_stride and .epilogue are used. `runs` is of winograd_sizes.
void conv_winograd(const ConvRuns& runs, const std::int16_t* image, const WinogradWeights& weights,
                   const IntegerGemmWork& work, ThreadPool& pool);

}  // namespace anybit::kernels
