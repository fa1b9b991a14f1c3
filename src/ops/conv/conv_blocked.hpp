// Float convolution in Layout::blocked8, by oneDNN: chooses the kernel, splits the
// work, and converts into and out of the layout.
#pragma once

#include "kernels/conv/conv_onednn.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/frame.hpp"
#include "ops/lru_cache.hpp"

namespace anybit::ops {

class BlockedConv {
 public:
  // `w` is float32; `bias` is null unless it is constant. Null if there is no kernel.
  static Result<std::unique_ptr<BlockedConv>> make(const Attributes& node, Memory& memory, const Array& w,
                                                   const Array* bias, bool has_bias, bool has_sum,
                                                   const kernels::Activation& activation);

  // Runs it on the frame's inputs: 0 is x, 2 the bias, 3 the tensor to add. False if there is no kernel for
  // these sizes.
  Result<bool> run(Frame& frame, const kernels::ConvSizes& sizes) const;

 private:
  // How a convolution is split into pieces: depends on its sizes, never on the number of threads.
  struct Pieces {
    std::int64_t images = 1, channels = 0;  // of each piece but the last
    std::shared_ptr<const kernels::DnnlConv> most, last;
  };
  struct Case {
    std::int64_t batch;
    kernels::Window window;
    friend bool operator==(const Case&, const Case&) = default;
  };
  // One piece: its operands, its kernel and its part of the output.
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
  // The convolution without its sum and activation, as the unfused nodes compute it.
  void convolve(const Piece& piece, std::span<float> y) const;
  Result<const float*> bias_of(Frame& frame, std::int64_t channels) const;

  kernels::ConvKind kind_ = kernels::ConvKind::blocked;
  Block weights_, bias_;
  bool has_bias_ = false, has_sum_ = false;
  kernels::Activation activation_;
  LruCache<Case, Pieces> known_;
};

}  // namespace anybit::ops
