// The times of a run's nodes, as callers see them.
#pragma once

#include "anybit/executor.hpp"
#include "runtime/profile.hpp"

namespace anybit {

// Adds the entries of `from`, whose program must still be there.
void take_times(const runtime::Profile& from, RunProfile& to);

}  // namespace anybit
