// Tunes the heap of this process.
#pragma once

namespace anybit::cli {

// Grows the heap in large steps and huge pages. A command runs for a fraction of a second, and page faults of
// 4 KiB pages would take a large part of it.
void take_heap_in_large_steps();

}  // namespace anybit::cli
