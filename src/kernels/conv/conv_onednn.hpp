// Float convolution by oneDNN: its JIT kernels run at the CPU's peak on tensors blocked by 8 channels
// (nChw8c). Each call runs on the calling thread; a caller with several threads gives each a piece of the
// work. Not available without oneDNN, or where oneDNN has no JIT kernel.
#pragma once

#include <memory>
#include <span>

#include "kernels/conv/activation.hpp"
#include "kernels/conv/conv_direct.hpp"

namespace anybit::kernels {

enum class ConvKind {
  few,        // plain input with few channels; weights [O/8][taps][I][8o]
  blocked,    // blocked input and output; weights [O/8][I/8][taps][8i][8o] for each group
  depthwise,  // blocked input and output; weights [C/8][taps][8c]
};

// The piece of a convolution that one call does. Channels are multiples of 8, except the input channels of
// `few`.
struct DnnlPiece {
  ConvKind kind = ConvKind::blocked;
  ConvSizes sizes;
  bool bias = false;
  bool sum = false;  // accumulate onto the output
  Activation activation;
};

class DnnlConv {
 public:
  virtual ~DnnlConv() = default;
  // False where results have to be reproducible: its kernels differ from CPU to CPU.
  static bool available();
  static int instruction_set();  // dnnl_cpu_isa_t, as capped by ANYBIT_CPU; 0 without oneDNN
  // Null if oneDNN has no JIT kernel for it.
  static std::shared_ptr<const DnnlConv> make(const DnnlPiece& piece);

  // Scratch memory of each run, in bytes.
  virtual std::size_t scratch_bytes() const = 0;
  // Thread-safe. False if a NaN may have reached an activation: oneDNN's activations turn NaN into numbers.
  virtual bool run(const float* x, const float* weights, const float* bias, float* y,
                   std::byte* scratch) const = 0;
};

// Size, in floats, of the weights of a whole convolution in the layout of a kind, channels padded to 8 (of
// each group, for `blocked`).
std::int64_t conv_weight_count(ConvKind kind, const ConvSizes& sizes);
// Reorders from ONNX's [O, I / groups, taps]; the padding is zero.
void order_conv_weights(ConvKind kind, const ConvSizes& sizes, const float* weights, float* ordered);

}  // namespace anybit::kernels
