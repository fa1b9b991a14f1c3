// Index tuples, each of which selects a slice of a tensor: GatherND and ScatterND.
#pragma once

#include "ops/move/data_movement.hpp"

namespace anybit::ops {

struct IndexTuples {
  std::size_t used = 0;                  // axes of the data for batch and tuple; the rest is the slice
  std::int64_t slice = 1;                // elements of a slice
  std::span<const std::int64_t> places;  // data offset of each tuple's slice
};

// For data in input 0 and indices in input 1: the last axis of the indices is the tuple, the first `batch`
// axes are shared. Rejects indices out of range.
Result<IndexTuples> index_tuples(Frame& frame, std::int64_t batch);

}  // namespace anybit::ops
