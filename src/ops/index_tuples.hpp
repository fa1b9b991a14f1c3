// Tuples of indices that each name a slice of a tensor: GatherND and ScatterND.
#pragma once

#include "ops/move.hpp"

namespace anybit::ops {

struct IndexTuples {
  std::size_t used = 0;                  // axes of the data that batch and tuple take; the rest is the slice
  std::int64_t slice = 1;                // its elements
  std::span<const std::int64_t> places;  // where each tuple's slice begins in the data
};

// For data in input 0 and indices in input 1: its last axis is the tuple, its first `batch` axes are shared.
// Every index is inside.
Result<IndexTuples> index_tuples(Frame& frame, std::int64_t batch);

}  // namespace anybit::ops
