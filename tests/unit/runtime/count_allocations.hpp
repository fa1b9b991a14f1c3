// How often the program took memory from the heap.
#pragma once

#include <atomic>
#include <cstdint>

namespace anybit::testing {
extern std::atomic<std::int64_t> allocations;
}  // namespace anybit::testing
