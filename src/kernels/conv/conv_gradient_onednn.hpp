// Gradients of a float convolution by oneDNN, on tensors blocked by 8 or 16 channels. Each call runs on the
// calling thread; a caller with several threads gives each a piece of the batch.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/conv/conv_direct.hpp"

namespace anybit::kernels {

struct ConvGradientPiece {
  enum class By : std::uint8_t { input, weight } by = By::input;
  enum class Form : std::uint8_t {
    few,        // x is plain and has few channels; only by weight
    dense,      // also groups of whole blocks
    depthwise,  // one channel per group
  } form = Form::dense;
  std::int64_t block = 8;  // adjacent channels: 8 or 16
  ConvSizes sizes;

  friend bool operator==(const ConvGradientPiece&, const ConvGradientPiece&) = default;
};

class DnnlConvGradient {
 public:
  virtual ~DnnlConvGradient() = default;
  // The largest block that the CPU has kernels for.
  static std::int64_t largest_block();
  // Null if oneDNN has no JIT kernel for it.
  static std::shared_ptr<const DnnlConvGradient> make(const ConvGradientPiece& piece);

  // Scratch memory of each run, in bytes.
  virtual std::size_t scratch_bytes() const = 0;
  // Size, in floats, of the weights in the kernel's order, and their conversion from and to ONNX's
  // [O, I / groups, taps]. Pieces that differ only in the batch have the same order.
  virtual std::int64_t weight_count() const = 0;
  virtual void order_weights(const float* w, float* ordered) const = 0;
  virtual void plain_weights(const float* ordered, float* w) const = 0;
  // `other` is w in order, and `result` dx; or x, and dw in order. Padding channels of dy and x are zero.
  virtual void run(const float* dy, const float* other, float* result, std::byte* scratch) const = 0;
};

}  // namespace anybit::kernels
