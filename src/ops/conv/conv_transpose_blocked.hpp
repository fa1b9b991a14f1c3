// float32 transposed convolution with Layout::blocked8: one direct convolution for each phase of the output
// modulo the strides. If windows do not overlap and there are few output channels, which would fill their
// block with zeros: one convolution whose channels are those of all phases, and a plain result.
#pragma once

#include "kernels/conv/conv_float.hpp"
#include "ops/frame.hpp"
#include "ops/lru_cache.hpp"

namespace anybit::ops {

class BlockedTranspose {
 public:
  // `w` is float32 and plain. Null if the kernel does not fit: channels of groups, weights that are not
  // finite, reproducible results.
  static Result<std::unique_ptr<BlockedTranspose>> make(const Attributes& node, Memory& memory,
                                                        const Array& w);
  // Input 0 is x. `sizes`: of the forward convolution, whose input is this output. `bias` may be null.
  Result<void> run(Frame& frame, const kernels::ConvSizes& sizes, const Dims& dims, const Array* bias) const;

 private:
  BlockedTranspose() = default;
  Result<void> run_joined(Frame& frame, const kernels::ConvSizes& sizes, const Dims& dims,
                          const Array* bias) const;

  bool joined_ = false;         // all phases in one convolution
  std::vector<Block> classes_;  // weights of each class of taps, or of all
  LruCache<kernels::Window, std::vector<kernels::TransposedPhase>> known_;
};

}  // namespace anybit::ops
