// Memory planning: values with overlapping lifetimes get disjoint ranges of the arena.
#pragma once

#include <cstdint>
#include <vector>

namespace anybit::cgen {

struct Span {
  int first = -1, last = -1;  // steps; -1: never
};

struct Block {
  Span life;
  std::int64_t bytes = 0;
};

struct Layout {
  std::vector<std::int64_t> offsets;  // one per block
  std::int64_t bytes = 0;
};

// Offsets are multiples of `alignment`.
Layout lay_out(const std::vector<Block>& blocks, std::int64_t alignment);

}  // namespace anybit::cgen
