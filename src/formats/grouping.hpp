// Divides a tensor into groups that share parameters: a grid of equal boxes; those at the upper edges may be
// smaller. A whole tensor, a channel and a block along an axis are all boxes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "anybit/result.hpp"
#include "formats/table.hpp"

namespace anybit::formats {

using Dims = std::vector<std::int64_t>;

// Options of the caller; the format's descriptor has the defaults.
struct GroupingOptions {
  std::optional<Granularity> granularity;
  std::optional<std::int64_t> axis;  // for channel and block; negative counts from the end; default: the last
  std::optional<std::int64_t> block_size;  // block along `axis`
  Dims block;                              // or a box over the last dimensions; -1: the whole dimension
  friend bool operator==(const GroupingOptions&, const GroupingOptions&) = default;
};

struct Grouping {
  Granularity granularity = Granularity::tensor;
  Dims dims;                    // of the tensor
  Dims box;                     // extent of a full group per dimension, 1 … dims[d] (1 if dims[d] is 0)
  Dims grid;                    // groups per dimension
  std::int64_t pack_axis = 0;   // the axis of rows of packed codes (rank 0: 0)
  std::int64_t groups() const;  // in row-major order of the grid
  std::int64_t size() const;    // elements of a full group
  std::int64_t count() const;   // elements of the tensor
};

// The options that a profile implies: with `profile=mase` a format that shares its parameters over the tensor
// shares them over each index of the first axis.
GroupingOptions with_profile(const Descriptor& format, const Values& values, GroupingOptions options);

// Granularity::element gives the whole tensor as one group without words. With another granularity, such
// formats get a scale (scaled.hpp). Errors: axis out of range, block size below 1, both kinds of block, a
// block for a format or granularity without blocks, rank above 32, element count overflow. `values` may have
// a profile.
Result<Grouping> resolve(const Descriptor& format, const Dims& dims, const GroupingOptions& options,
                         const Values& values = {});

}  // namespace anybit::formats
