// How large a model may be before it is refused. The defaults are far above any model in use; they exist so
// that a hostile file costs bounded time and memory.
#pragma once

#include <cstdint>

namespace anybit {

struct Limits {
  std::int64_t rank = 32;                         // dimensions of one tensor
  std::int64_t elements = std::int64_t{1} << 40;  // elements of one tensor
  std::int64_t nodes = 1'000'000;                 // nodes in the whole file, subgraphs and functions included
  std::int64_t depth = 64;                        // graphs within graphs, and types within types
  std::int64_t records = 4'000'000;               // messages and strings in the file, of every kind
  std::int64_t pixels = std::int64_t{1} << 28;    // pixels of one image

  // Work on a model before it runs: constants folded, functions inlined. Counted, never timed, so that
  // results do not depend on the machine. Bytes and elements grow with the constants that the model holds.
  std::int64_t work_bytes = std::int64_t{256} << 20;   // made, beside 32 for each byte of constants
  std::int64_t work_elements = std::int64_t{1} << 30;  // read, written, multiplied, beside 256 for each byte
  std::int64_t work_nodes = 200'000;                   // that calls of the model's functions stand for
};

}  // namespace anybit
