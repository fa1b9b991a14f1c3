// The time that each node of a run took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace anybit::runtime {

struct Step;

struct Profile {
  struct Entry {
    const Step* step;
    std::int64_t start, nanoseconds;  // since the run began
    std::int64_t macs;                // multiply-accumulate operations; 0: none, or unknown
    int depth;                        // nesting of graphs inside nodes
  };
  std::vector<Entry> entries;
  std::int64_t begin = 0;
  int depth = 0;
};

std::int64_t now_nanoseconds();

}  // namespace anybit::runtime
