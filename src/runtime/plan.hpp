// Where each value of a run lies: buffers that are not needed at the same time share memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/dims.hpp"
#include "ops/number.hpp"

namespace anybit::runtime {

// Memory of one or more values, from the step that makes the first to the one that needs the last.
struct Buffer {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
  std::int64_t offset = 0;  // what planning finds
};

// Finds offsets; the size of the arena that they need. Several orders of placing are tried, and the best
// kept.
std::int64_t assign_offsets(std::span<Buffer> buffers);
// The most that is alive at one step: no plan can do with less.
std::int64_t largest_live_set(std::span<const Buffer> buffers);

// What becomes of one output of a step: it gets memory of its own, a buffer that begins with it, the buffer
// of the input that it overwrites, or that of the input whose elements it shares.
struct Place {
  enum class How : std::uint8_t { dynamic, arena, over, shared } how = How::dynamic;
  int buffer = -1;  // in Plan::buffers; -1: none of them
};

// For certain types and shapes of a program's inputs; made from what its first run with them did. Shapes
// inside the program may depend on data, and so may what an operator does: a later run follows the plan only
// where a value fits into its buffer while that is alive.
struct Plan {
  struct Key {
    ops::ElementType type;
    ops::Dims dims;
    friend bool operator==(const Key&, const Key&) = default;
  };
  std::vector<Key> keys;
  std::vector<Place> outputs;  // of all steps, one after the other
  std::vector<Place> plain;    // by slot: its copy in plain layout
  std::vector<Buffer> buffers;
  std::int64_t arena = 0;  // bytes
  std::int64_t live = 0;   // the largest live set
};

}  // namespace anybit::runtime
