// Float convolution by oneDNN: its compiled kernels run at the CPU's peak on tensors blocked by 8 channels.
// Each runs on the thread that calls it; whoever has several threads gives each a piece of the work. Without
// oneDNN, or where it has no compiled kernel, there is none.
#pragma once

#include <memory>
#include <span>

#include "kernels/activation.hpp"
#include "kernels/conv_direct.hpp"

namespace anybit::kernels {

enum class ConvKind {
  few,        // input plain, with few channels; weights [O/8][taps][I][8o]
  blocked,    // input and output blocked; weights [O/8][I/8][taps][8i][8o] for each group
  depthwise,  // input and output blocked; weights [C/8][taps][8c]
};

// The piece of a convolution that one call does: channels are multiples of 8 (but the input's of `few`).
struct DnnlPiece {
  ConvKind kind = ConvKind::blocked;
  ConvSizes sizes;
  bool bias = false;
  bool sum = false;  // the output holds what is added to it
  Activation activation;
};

class DnnlConv {
 public:
  virtual ~DnnlConv() = default;
  // Not where results have to be reproducible: its kernels differ from CPU to CPU.
  static bool available();
  static int instruction_set();  // dnnl_cpu_isa_t, as far as ANYBIT_CPU lets it; 0 without oneDNN
  // Null if oneDNN has no compiled kernel for it.
  static std::shared_ptr<const DnnlConv> make(const DnnlPiece& piece);

  // Bytes of scratch memory that each run needs.
  virtual std::size_t scratch_bytes() const = 0;
  // Any number of threads at once. False if a NaN may have come to an activation: oneDNN's make numbers of
  // it.
  virtual bool run(const float* x, const float* weights, const float* bias, float* y,
                   std::byte* scratch) const = 0;
};

// Floats that the weights of a whole convolution take in the order of a kind, channels padded to 8 (of each
// group, for `blocked`).
std::int64_t conv_weight_count(ConvKind kind, const ConvSizes& sizes);
// From ONNX's order [O, I / groups, taps]; the padding is zero.
void order_conv_weights(ConvKind kind, const ConvSizes& sizes, const float* weights, float* ordered);

}  // namespace anybit::kernels
