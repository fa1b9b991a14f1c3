// Float convolution on tensors blocked by 8 channels (Layout::blocked8), for weights that are constant: which
// kernel, in which pieces, and the way into and out of the layout.
#pragma once

#include "kernels/dnnl_conv.hpp"
#include "ops/conv_call.hpp"
#include "ops/frame.hpp"
#include "ops/remembered.hpp"

namespace anybit::ops {

class BlockedConv {
 public:
  // `w` is float32; a bias that is not constant is null here. Nothing if there are no kernels for it.
  static Result<std::unique_ptr<BlockedConv>> make(const Attributes& node, Memory& memory, const Array& w,
                                                   const Array* bias, bool has_bias, bool has_sum,
                                                   const kernels::Activation& activation);

  // Runs it on the frame's inputs: x is 0, the bias 2, what is added 3. False if there is no kernel for
  // these sizes.
  Result<bool> run(Frame& frame, const kernels::ConvSizes& sizes) const;

 private:
  // How a convolution of certain sizes is cut into pieces: by the sizes alone, never by the threads.
  struct Pieces {
    std::int64_t images = 1, channels = 0;  // of each piece but the last
    std::shared_ptr<const kernels::DnnlConv> most, last;
  };
  struct Case {
    std::int64_t batch;
    kernels::Window window;
    friend bool operator==(const Case&, const Case&) = default;
  };
  // One of them: where its results lie, which kernel makes them, and of what.
  struct Piece {
    const kernels::DnnlConv* kernel;
    const float *x, *weights, *bias;
    std::span<float> y;
    std::byte* scratch;
    kernels::ConvSizes sizes;
  };

  BlockedConv() = default;
  kernels::ConvSizes piece_sizes(const kernels::ConvSizes& sizes, std::int64_t images,
                                 std::int64_t channels) const;
  kernels::DnnlPiece piece(const kernels::ConvSizes& sizes) const;
  Pieces cut(const kernels::ConvSizes& sizes) const;
  std::shared_ptr<const Pieces> pieces(const kernels::ConvSizes& sizes) const;
  void run_pieces(Frame& frame, const Pieces& pieces, const kernels::ConvSizes& sizes, const float* x,
                  const float* bias, float* y, std::span<std::byte> scratch) const;
  void run_piece(const Piece& piece) const;
  // The convolution alone, and its activation after it: as the nodes do by themselves.
  void convolve(const Piece& piece, std::span<float> y) const;
  Result<const float*> bias_of(Frame& frame, std::int64_t channels) const;

  kernels::ConvKind kind_ = kernels::ConvKind::blocked;
  Block weights_, bias_;
  bool has_bias_ = false, has_sum_ = false;
  kernels::Activation activation_;
  Remembered<Case, Pieces> known_;
};

}  // namespace anybit::ops
