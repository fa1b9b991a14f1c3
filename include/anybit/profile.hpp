/// @file
/// Conversion of run profiles (anybit/executor.hpp) to JSON.
///
/// @code{.cpp}
/// #include <iostream>
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto executor = anybit::Executor::make(*model);
/// if (!executor) return;
/// auto x = anybit::random_value(executor->inputs()[0], {}, 1);
/// if (!x) return;
/// std::vector<anybit::RunProfile> runs(10);
/// for (anybit::RunProfile& run : runs) {
///   if (!executor->run({{executor->inputs()[0].name, *x}}, &run)) return;
/// }
/// std::cout << anybit::profile_json(runs) << "\n";
/// @endcode
#pragma once

#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/export.hpp"

namespace anybit {

/// Returns the shortest time of each node over all runs if the runs executed the same nodes; otherwise the
/// entries of the first run.
ANYBIT_API std::vector<RunProfile::Entry> best_times(const std::vector<RunProfile>& runs);
/// Returns best_times() as a JSON array.
ANYBIT_API std::string profile_json(const std::vector<RunProfile>& runs);
/// Returns all runs as trace events for chrome://tracing.
ANYBIT_API std::string profile_trace(const std::vector<RunProfile>& runs);

}  // namespace anybit
