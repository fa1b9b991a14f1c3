/// @file
/// Quantization-aware training: options of it in QuantizeOptions::training, and its report. docs/training.md.
/// @code{.cpp}
/// #include "anybit/quantize.hpp"
/// #include "anybit/samples.hpp"
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"samples/"});
/// if (!samples) return;
/// auto recipe = anybit::Recipe::preset("ternary-weights");
/// if (!recipe) return;
/// anybit::QuantizeOptions options;
/// options.training.emplace().steps = 1000;
/// auto trained = anybit::quantize(*model, *recipe, &*samples, options);
/// if (trained) auto saved = trained->model.save("model.q.onnx");
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/formats.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// The state of training after a step.
struct TrainingStep {
  std::int64_t step = 0, steps = 0;  ///< finished, and planned
  double loss = 0;                   ///< of this step's batch
  /// Share of the batch's rows in which the quantized and the float model choose the same class; negative if
  /// no output has classes.
  double agreement = -1;
  double rate = 0;          ///< the learning rate
  double seconds_left = 0;  ///< an estimate
};

/// How to train. Zero, "auto" and empty values leave the choice to anybit: it follows from the model, the
/// format and the number of samples, never from time, except with `minutes`.
struct TrainingOptions {
  std::int64_t steps = 0;  ///< number of steps; 0: 600 to 2,000 by the size of the model
  double minutes = 0;      ///< in place of `steps`: as many as fit into this time
  /// "kl": Kullback-Leibler divergence from the float model's scores; "mse" and "cosine": distance from its
  /// outputs; "ce": cross-entropy with the labels, and half of "kl"; "auto": "ce" with labels, else by the
  /// outputs.
  std::string loss = "auto";
  std::string optimizer = "adam";   ///< "adam" (AdamW) or "sgd" (with momentum)
  std::string schedule = "cosine";  ///< of the learning rate: "cosine", "step" or "constant"
  double rate = 1e-3;               ///< the learning rate at the start
  double step_rate = 0.3;           ///< factor for the steps of quantizers
  double weight_decay = 0;
  double temperature = 2;  ///< of scores in "kl"
  double clip = 1;         ///< largest norm of the gradients; 0: no limit
  double average = 0;  ///< decay of a moving average of the weights, which is kept if it is better; 0: none
  std::int64_t batch = 0;  ///< samples per step; 0: 64, or fewer if there are few
  /// Batches per step whose gradients are added up: the step of a larger batch in the memory of one.
  std::int64_t accumulate = 1;
  /// Changes of images: "none", or some of "shift", "flip" and "mix" (weighted means of two images), joined
  /// by commas. "auto": those after which the float model finds the same classes, if each image is seen
  /// often.
  std::string augment = "auto";
  std::uint64_t seed = 0;
  std::vector<std::int64_t> labels = {};  ///< the class of each sample, or empty
  std::string checkpoint = {};            ///< a file to which the state is written once a minute; empty: none
  bool resume = false;                    ///< continue from that file, if it exists
  /// Called after each step, by the thread that called quantize(). With false training ends: the checkpoint
  /// is written, and quantize() returns Code::cancelled.
  std::function<bool(const TrainingStep&)> on_step = {};
};

/// Returns all options that have a name in recipes (`train: {steps: 1000}`), with defaults and bounds.
ANYBIT_API std::vector<FormatParameter> training_option_list();
/// Returns options with these values; the others are defaults. An error for unknown names and impossible
/// values.
ANYBIT_API Result<TrainingOptions> training_options(const ParameterValues& values) noexcept;

/// What training did.
struct TrainingReport {
  /// A point of the loss curve: means over the steps since the last point.
  struct Point {
    std::int64_t step = 0;
    double loss = 0, agreement = -1;
  };
  bool trained = false;
  std::string loss;     ///< of each output: "logits: kl"
  std::string augment;  ///< changes of images: "shift,flip", or "none"
  std::int64_t steps = 0, batch = 0, samples = 0;
  std::int64_t parameters = 0;  ///< number of values that were trained
  double seconds = 0;
  /// On samples that do not change during training: before and after it.
  double loss_before = 0, loss_after = 0, agreement_before = -1, agreement_after = -1;
  std::int64_t restarts = 0;  ///< how often it diverged and went back
  bool averaged = false;      ///< the moving average of the weights was better
  std::vector<Point> curve;   ///< at most 200 points
};

}  // namespace anybit
