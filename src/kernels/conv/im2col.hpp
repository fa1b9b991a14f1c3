// im2col on the fly: the windows of a convolution as rows of a matrix, for a GEMM. Tensors are channels-last:
// [batch, space…, channels].
#pragma once

#include <cstddef>

#include "kernels/conv/conv_direct.hpp"
#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {

// Row = output position, over batch and space; column = (tap, channel of the group).
class ConvRows final : public RowSource {
 public:
  // `padding`: the element that windows read outside the input. Elements have `bytes` bytes.
  ConvRows(const ConvSizes& sizes, std::int64_t group, const void* x, std::int64_t bytes,
           const void* padding);
  void read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
            std::int64_t stride) const override;

  // Whether each row is just the channels of one position (1 x 1, stride 1): then no windows are needed.
  static bool is_plain(const ConvSizes& sizes);

 private:
  void read_row(std::int64_t row, std::int64_t k, std::int64_t count, std::byte* to) const;
  void pad(std::byte* to, std::int64_t count) const;

  const ConvSizes& sizes_;
  const std::byte* x_;
  std::int64_t channels_, bytes_;
  std::byte padding_[8];
  bool padding_is_zero_;
};

// Transposes the weights [O, I / groups, taps] of one group to columns[o][tap][i], o within the group.
template <class T>
void conv_columns(const ConvSizes& sizes, std::int64_t group, const T* weights, T* columns) {
  const std::int64_t taps = kernel_size(sizes.window), channels = sizes.in_per_group();
  for (std::int64_t o = 0; o < sizes.out_per_group(); ++o) {
    const T* from = weights + (group * sizes.out_per_group() + o) * channels * taps;
    for (std::int64_t i = 0; i < channels; ++i) {
      for (std::int64_t k = 0; k < taps; ++k) columns[(o * taps + k) * channels + i] = from[i * taps + k];
    }
  }
}

}  // namespace anybit::kernels
