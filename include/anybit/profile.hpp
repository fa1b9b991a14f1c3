// The times of runs (anybit/executor.hpp) as text for programs.
#pragma once

#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/export.hpp"

namespace anybit {

// Each node's best time, if all runs went the same way; else the first run's.
ANYBIT_API std::vector<RunProfile::Entry> best_times(const std::vector<RunProfile>& runs);
// The same as a list in JSON.
ANYBIT_API std::string profile_json(const std::vector<RunProfile>& runs);
// All runs as events for chrome://tracing.
ANYBIT_API std::string profile_trace(const std::vector<RunProfile>& runs);

}  // namespace anybit
