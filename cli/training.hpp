// The options of training and its progress line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "anybit/quantize.hpp"

namespace anybit::cli {

struct TrainingFlags {
  bool train = false, resume = false;
  TrainingOptions options;
};

void add_training_options(CLI::App& app, TrainingFlags& flags);

// Shows steps on stderr; Ctrl-C ends training with its state saved, a second one the program. One at a time.
class TrainingProgress {
 public:
  TrainingProgress();
  ~TrainingProgress();
  TrainingProgress(const TrainingProgress&) = delete;
  TrainingProgress& operator=(const TrainingProgress&) = delete;
  // False: training is to end.
  bool show(const TrainingStep& step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace anybit::cli
