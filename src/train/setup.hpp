// What has to be known before the first step: whether the models take batches, which loss fits, what can be
// trained; and the executors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/targets.hpp"
#include "train/trainer.hpp"

namespace anybit::train {

struct Setup {
  std::int64_t batch = 1, steps = 0;
  std::vector<std::string> outputs;    // of the models
  std::vector<std::size_t> with_loss;  // indices of outputs
  std::vector<OutputLoss> losses;      // of these
  std::vector<Parameter> parameters;   // those that gradients reach
  std::vector<std::int64_t> measured;  // samples on which loss and agreement are measured
  bool apart = false;                  // whether these are not trained on
  Augmentation change;                 // of images
  std::vector<std::string> remarks;
  std::shared_ptr<const runtime::Executor> teacher, step, measure;
  StepGraph graph;
  std::string loss_output;
  std::string key;  // of checkpoints

  std::span<const std::int64_t> held_out() const {
    return apart ? std::span<const std::int64_t>(measured) : std::span<const std::int64_t>();
  }
};

Result<Setup> set_up(Job& job);

}  // namespace anybit::train
