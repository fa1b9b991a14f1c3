// Losses: how far the outputs of the quantized model are from those of the float model, or from labels.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/adder.hpp"
#include "ops/array.hpp"

namespace anybit::train {

// The loss of one output.
struct OutputLoss {
  std::string output;
  std::int64_t rank = 0;
  enum class Kind : std::uint8_t {
    kl,   // rows of scores along `axis`: T² · KL(softmax(target / T), softmax(output / T)) (Hinton et al.,
          // 2015)
    mse,  // the squared error divided by the mean square of the targets
    cosine,  // 1 - cosine similarity of each sample, and the same as `mse`
  } kind = Kind::mse;
  std::int64_t axis = -1;  // of classes; -1: the output has none
  std::int64_t classes = 0;
  bool probabilities = false;  // their logarithms are the scores
};
std::string_view name_of(OutputLoss::Kind kind);

// Chooses by the float model's outputs on some samples. `asked`: "auto", "kl", "mse", "cosine" or "ce", as in
// TrainingOptions. Outputs that are not float32 have no loss. An error if no output has one.
Result<std::vector<OutputLoss>> choose_losses(const std::vector<std::string>& outputs,
                                              const std::vector<std::vector<ops::Array>>& samples,
                                              std::string_view asked);

struct LossNodes {
  std::string loss;                  // a scalar
  std::vector<std::string> targets;  // inputs of the graph, one per output with a loss
  std::string labels;                // input [rows, classes]; empty without labels
};
// Adds the loss to the graph: the mean over the outputs. With labels, cross-entropy and distillation count
// half each.
LossNodes add_loss(graph::Adder& add, const std::vector<OutputLoss>& outputs, double temperature,
                   bool labels);

}  // namespace anybit::train
