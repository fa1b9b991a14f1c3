// The times of a run's nodes in the public form.
#pragma once

#include "anybit/executor.hpp"
#include "runtime/profile.hpp"

namespace anybit {

// Adds the entries of `from`, whose program must still exist.
void take_times(const runtime::Profile& from, RunProfile& to);

}  // namespace anybit
