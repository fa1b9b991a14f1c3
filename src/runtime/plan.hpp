// Memory planning: buffers with disjoint lifetimes share memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/dims.hpp"
#include "ops/number.hpp"

namespace anybit::runtime {

// Memory of one or more values, from the step that produces the first to the last step that uses any.
struct Buffer {
  std::int64_t bytes = 0;
  int first = 0, last = 0;
  std::int64_t offset = 0;  // filled in by assign_offsets()
};

// Assigns offsets and returns the size of the arena. Tries several placement orders and keeps the best.
std::int64_t assign_offsets(std::span<Buffer> buffers);
// The largest number of bytes alive at one step: a lower bound for every plan.
std::int64_t largest_live_set(std::span<const Buffer> buffers);

// The memory of one output of a step: its own (dynamic), a new buffer (arena), the buffer of an input that it
// overwrites (over), or the buffer of the input whose elements it shares (shared).
struct Place {
  enum class How : std::uint8_t { dynamic, arena, over, shared } how = How::dynamic;
  int buffer = -1;  // in Plan::buffers; -1: none
};

// For given types and shapes of a program's inputs, recorded in the first run with them. Shapes inside the
// program may depend on data, and so may an operator's behaviour: a later run follows the plan only where a
// value fits into its buffer during the buffer's lifetime.
struct Plan {
  struct Key {
    ops::ElementType type;
    ops::Dims dims;
    friend bool operator==(const Key&, const Key&) = default;
  };
  std::vector<Key> keys;
  std::vector<Place> outputs;  // of all steps, concatenated
  std::vector<Place> plain;    // by slot: its plain-layout copy
  std::vector<Buffer> buffers;
  std::int64_t arena = 0;  // bytes
  std::int64_t live = 0;   // the largest live set
};

}  // namespace anybit::runtime
