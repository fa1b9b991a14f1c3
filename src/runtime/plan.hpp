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

// What becomes of one output of a step.
struct Place {
  enum class How : std::uint8_t { dynamic, arena, over, shared } how = How::dynamic;
  std::int64_t offset = 0, bytes = 0;
};

// For certain types and shapes of a program's inputs; made from what its first run with them did.
struct Plan {
  struct Key {
    ops::ElementType type;
    ops::Dims dims;
    friend bool operator==(const Key&, const Key&) = default;
  };
  std::vector<Key> keys;
  std::vector<Place> outputs;  // of all steps, one after the other
  std::vector<Place> plain;    // by slot: its copy in plain layout
  std::int64_t arena = 0;      // bytes
  std::int64_t live = 0;       // the largest live set
};

}  // namespace anybit::runtime
