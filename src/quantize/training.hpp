// Quantization-aware training between calibration and lowering: trains the float weights of the model behind
// their quantizers (lower/training_form.hpp), and the scales that are free.
#pragma once

#include <map>
#include <string>

#include "quantize/plan.hpp"
#include "train/trainer.hpp"

namespace anybit::quantizing {

// Scales and zero points that training chose.
struct LearnedScales {
  std::map<std::string, Spec::Given> clusters;    // by the name of their first value
  std::map<lower::Place, Spec::Given> constants;  // by their first place, in the main graph

  // Puts them in place of those that observers and weights would give. Refinements no longer round weights.
  void apply(Annotation& annotation) const;
};

// Trains; changes the model's weights. `plan`: that of the model now.
Result<LearnedScales> train_quantized(graph::Model& model, const lower::GraphPlan& plan,
                                      const train::SampleStore& samples, const TrainingOptions& options,
                                      const Settings& settings, QuantizationReport& report);

// The first and the last layer of a model that is to be trained keep 8-bit weights where the recipe has 2
// bits or fewer, or integers of at most 4: choices for them.
std::map<std::string, Choice> wider_ends(const graph::Model& model, const Annotation& annotation);

// Whether weights or activations have so few bits that training usually pays.
bool gains_by_training(const Annotation& annotation);

}  // namespace anybit::quantizing
