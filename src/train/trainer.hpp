// Trains the variables of a model until its outputs are those of another model: quantization-aware training
// by distillation (Hinton et al., 2015), with straight-through rounding (Bengio et al., 2013).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "anybit/training.hpp"
#include "runtime/executor.hpp"
#include "train/sample_store.hpp"
#include "train/step_graph.hpp"

namespace anybit::train {

struct Job {
  std::shared_ptr<const graph::Model> teacher;  // the float model
  graph::Model student;               // the same inputs and outputs; FakeQuantize where it is quantized
  std::vector<Parameter> parameters;  // of the student
  const SampleStore* samples = nullptr;
  TrainingOptions options;
  runtime::ExecutorOptions executor;
};

struct Trained {
  std::map<std::string, ops::Array> values;  // of all parameters; empty if training made nothing better
  TrainingReport report;
  std::vector<std::string> remarks;
};

Result<Trained> train(Job job);

}  // namespace anybit::train
