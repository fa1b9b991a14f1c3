// The contiguous pieces of a group of a tensor: for the files that implement TensorCodec.
#pragma once

#include <algorithm>

#include "kernels/codec/tensor_codec.hpp"

namespace anybit::kernels {

// The contiguous pieces of a group, in index order: run(offset in the tensor, length).
template <class Run>
void TensorCodec::for_runs(std::int64_t group, const Run& run) const {
  const std::size_t rank = grouping_.dims.size();
  formats::Dims extent(rank), stride(rank), at(rank, 0);
  std::int64_t offset = 0, step = 1;
  for (std::size_t d = rank; d-- > 0;) {
    const std::int64_t first = group % grouping_.grid[d] * grouping_.box[d];
    group /= grouping_.grid[d];
    extent[d] = std::min(grouping_.box[d], grouping_.dims[d] - first);
    stride[d] = step;
    offset += first * step;
    step *= grouping_.dims[d];
  }
  std::size_t inner = rank;  // axes from here on are contiguous
  std::int64_t length = 1;
  while (inner > 0 && (inner == rank || extent[inner] == grouping_.dims[inner])) length *= extent[--inner];
  while (true) {
    run(offset, length);
    std::size_t d = inner;
    while (d > 0) {
      --d;
      offset += stride[d];
      if (++at[d] < extent[d]) break;
      offset -= extent[d] * stride[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (inner == 0) return;
  }
}

}  // namespace anybit::kernels
