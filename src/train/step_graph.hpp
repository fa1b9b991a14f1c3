// The graph of a training step: forward pass, loss, gradients and optimizer. One run is one step; its updates
// change the variables.
#pragma once

#include <string>
#include <vector>

#include "anybit/training.hpp"
#include "runtime/executor.hpp"
#include "train/loss.hpp"

namespace anybit::train {

// A value that is trained: a float32 initializer of the main graph.
struct Parameter {
  std::string name;
  double rate = 1;                                        // factor of the learning rate
  bool decays = false;                                    // weight decay applies
  float least = -std::numeric_limits<float>::infinity();  // steps of quantizers must stay positive
};

struct StepGraph {
  graph::Model model;
  runtime::ExecutorOptions options;    // with variables and updates
  std::vector<std::string> variables;  // the parameters first, in order
  std::string rate, step;              // inputs: float32 and int64 scalars
  std::string last;                    // input: whether the sum of gradients is complete; empty: it always is
  std::string loss;                    // output: a scalar
  LossNodes targets;
};

// Adds everything to the model of the forward pass. Its outputs are those of the model, then the loss.
Result<StepGraph> make_step_graph(graph::Model forward, const std::vector<Parameter>& parameters,
                                  const std::vector<OutputLoss>& losses, const TrainingOptions& options);
// The forward pass and the loss alone, to measure; the parameters are variables.
Result<StepGraph> make_loss_graph(graph::Model forward, const std::vector<Parameter>& parameters,
                                  const std::vector<OutputLoss>& losses, const TrainingOptions& options);

// Whether gradients reach an initializer; else the node that has no rule, for messages.
struct Reach {
  std::vector<std::string> reached;  // of those asked for
  std::map<std::string, std::string>
      blocked;  // name: the node in the way; or empty, if no output depends on it
};
Reach reachable(const graph::Model& model, const std::vector<std::string>& names);

}  // namespace anybit::train
