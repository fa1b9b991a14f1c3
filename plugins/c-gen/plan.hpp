// Where values lie in the arena: those that live at the same time lie apart.
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
  std::vector<std::int64_t> offsets;  // one for each block
  std::int64_t bytes = 0;
};

// Blocks begin at multiples of `alignment`.
Layout lay_out(const std::vector<Block>& blocks, std::int64_t alignment);

}  // namespace anybit::cgen
