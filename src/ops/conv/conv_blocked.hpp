// float32 convolution with Layout::blocked8: chooses the algorithm (direct, Winograd, few channels,
// depthwise), orders weights for it, and converts into and out of the layout.
#pragma once

#include <mutex>

#include "kernels/conv/conv_float.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/frame.hpp"
#include "ops/lru_cache.hpp"

namespace anybit::ops {

// An attribute of Conv that the runtime sets: all consumers take the plain layout only.
inline constexpr std::string_view kPlainResult = "plain_result";

class BlockedConv {
 public:
  // `w` is float32 and plain; `bias` is null unless it is constant. Null if no kernel fits: many groups of
  // odd sizes, weights that are not finite, reproducible results.
  static Result<std::unique_ptr<BlockedConv>> make(const Attributes& node, Memory& memory, const Array& w,
                                                   const Array* bias, bool has_bias, bool has_sum,
                                                   const kernels::Activation& activation);

  // Whether it applies Frame::take_start() itself.
  bool takes_start() const { return kind_ == Kind::few; }
  // Runs it on the frame's inputs: 0 is x, 2 the bias, 3 the tensor to add. False if x is not finite and
  // would reach other groups: then nothing is done.
  // `w`: the weights that it was made of, plain.
  Result<bool> run(Frame& frame, const kernels::ConvSizes& sizes, const Array& w) const;

 private:
  enum class Kind { few, blocked, depthwise };
  BlockedConv() = default;
  static std::optional<Kind> kind_of(const kernels::ConvSizes& sizes);
  Result<void> order(Memory& memory, const kernels::ConvSizes& sizes, const float* weights);
  std::int64_t bias_size(const kernels::ConvSizes& sizes) const;  // with padding
  void place_bias(const kernels::ConvSizes& sizes, const Array& bias, float* to) const;
  Result<const float*> bias_of(Frame& frame, const kernels::ConvSizes& sizes) const;
  bool takes_winograd(const kernels::ConvSizes& sizes) const;
  bool writes_plain(const kernels::ConvSizes& sizes) const;  // if it pays off
  // The weights of Winograd's algorithm, transformed when first needed; null if it does not pay off, or if
  // there is no memory for them.
  const float* winograd(Frame& frame, const kernels::ConvSizes& sizes, const Array& w) const;
  std::shared_ptr<const kernels::ConvAxes> axes(const kernels::Window& window) const;
  Result<void> run_direct(Frame& frame, const kernels::ConvSizes& sizes, const Array& w,
                          kernels::FloatConvWork& work) const;
  Result<void> run_few(Frame& frame, const kernels::ConvSizes& sizes, kernels::FloatConvWork& work) const;
  Result<void> run_depthwise(Frame& frame, const kernels::ConvSizes& sizes,
                             const kernels::FloatConvWork& work) const;

  Kind kind_ = Kind::blocked;
  std::int64_t merged_ = 1;  // groups computed as one
  Block weights_, bias_;
  bool has_bias_ = false, has_sum_ = false, wants_plain_ = false;
  kernels::Activation activation_;
  LruCache<kernels::Window, kernels::ConvAxes> known_;
  mutable std::mutex mutex_;
  mutable Block winograd_;
};

}  // namespace anybit::ops
