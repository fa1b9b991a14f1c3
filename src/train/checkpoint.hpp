// The state of training in a file. A resumed run ends with the bits of one that was not interrupted.
#pragma once

#include <map>
#include <string>

#include "anybit/training.hpp"
#include "ops/array.hpp"

namespace anybit::train {

using Values = std::map<std::string, ops::Array>;  // by variable

struct Checkpoint {
  std::int64_t step = 0, steps = 0;  // finished, and planned
  double rate_factor = 1;            // smaller after a restart
  double smooth = 0, best_smooth = 0, first_smooth = 0;
  TrainingReport report;  // loss curve and restarts
  TrainingReport::Point pending;
  std::int64_t pending_steps = 0;
  Values values;               // of all variables
  std::int64_t safe_step = 0;  // where to go back to after divergence, with these values
  Values safe;
  Values averages;  // of the parameters; empty: none
};

// `key` identifies the model, the samples and the options.
Result<void> save_checkpoint(const std::string& path, const std::string& key, const Checkpoint& state);
// std::nullopt if there is no such file. An error if it is damaged or has another key.
Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path, const std::string& key,
                                                  ops::Memory& memory);

}  // namespace anybit::train
