// How this process gets memory.
#pragma once

namespace anybit::cli {

// A command is over in a fraction of a second, in which the system's pages, given one by one when they are
// first touched, cost more than most of what is done in them: the heap is taken in large steps, in large
// pages.
void take_heap_in_large_steps();

}  // namespace anybit::cli
