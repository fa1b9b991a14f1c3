/// @file
/// Sensitivity: how much each layer of a model contributes to the loss at the outputs. Each layer is
/// quantized alone, and left in float alone, and the outputs are compared with those of the float model.
/// docs/sensitivity.md.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// auto model = anybit::Model::load("model.onnx");
/// auto recipe = anybit::Recipe::preset("int8");
/// if (!model || !recipe) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"samples/"});
/// if (!samples) return;
/// auto found = anybit::sensitivity(*model, *recipe, *samples);
/// if (!found) return;
/// for (const anybit::LayerSensitivity& layer : found->layers)
///   std::printf("%s: %.3f\n", layer.node.c_str(), layer.alone.harm);
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/quantize.hpp"
#include "anybit/result.hpp"
#include "anybit/samples.hpp"
#include "anybit/verdict.hpp"

namespace anybit {

/// The effect of quantization on the part of the outputs that suffers most.
struct Effect {
  /// Noise relative to signal, or the divergence of classes, in units of what a verdict of "ok" permits for
  /// this kind of values: 1 is the limit, 0 is no effect.
  double harm = 0;
  Level level = Level::unknown;
  double sqnr = 200;   ///< of the part, in dB
  std::string reason;  ///< "output0, channels 4-83 (scores): 1.4 dB, keeps 0 of 31 above 0.25"
};

/// One layer: a node that the recipe quantizes.
struct LayerSensitivity {
  std::string node, op;   ///< the name is what `--exclude` takes
  std::string what;       ///< the scheme: "int8 asym, int8 sym channel"
  double estimate = 0;    ///< first-order estimate: noise relative to signal of its weights and inputs
  bool measured = false;  ///< false: only the estimate is known
  Effect alone;           ///< only this layer is quantized
  Effect left;            ///< everything else is quantized
  double harm = 0;  ///< the larger of alone.harm, and what leaving the layer in float takes from the harm
};

/// The result of sensitivity().
struct Sensitivity {
  std::string recipe;
  Effect all;                            ///< everything is quantized
  Effect plain;                          ///< the same without refinements, to which the layers are compared
  bool refinements_harm = false;         ///< refinements make the model worse: leave them out
  std::vector<LayerSensitivity> layers;  ///< most harmful first; then those that were not measured
  /// The fewest of the most harmful layers that have to stay in float for a verdict of "ok", and the effect
  /// then. Empty if the model is ok as it is, or if no small set is enough.
  std::vector<std::string> exclude;
  Effect excluded;
  std::string exclude_as = "float";  ///< the scheme that they get, of SensitivityOptions::promotions
  double metric = 0;                 ///< SensitivityOptions::metric of the model with `exclude`
  bool reached = true;       ///< false: no small set is enough, and `exclude` is the best that was found
  std::int64_t samples = 0;  ///< of the measurement
  std::int64_t runs = 0;     ///< of the model or of a part of it
  double seconds = 0;        ///< of the measurement, without calibration
  std::vector<std::string> remarks;
};

/// Options of sensitivity().
struct SensitivityOptions {
  std::string target = "generic";  ///< as in QuantizeOptions
  int threads = 0;                 ///< 0: one per core
  std::int64_t max_memory = 0;     ///< bytes of activations of each model; 0: no limit
  std::int64_t max_kept = 0;       ///< bytes of values that are kept between runs; 0: 512 MiB
  std::int64_t layers = 0;         ///< measure only this many, with the largest estimates; 0: all
  std::int64_t samples = 4;        ///< for the measurement; calibration uses all
  bool allow_nan = false;          ///< count NaN and infinity in activations and ignore them
  /// The bound for `exclude`, in dB of the part of the outputs that suffers most; 0: a verdict of "ok".
  double min_sqnr = 0;
  /// The bound by a measure of the caller's own instead, where more is better: the models with and without
  /// promoted layers have to reach `min_metric`. They are as quantize() writes them by default, with the
  /// statistics of this calibration. An error ends the measurement.
  std::function<Result<double>(const Model& quantized)> metric = {};
  double min_metric = 0;
  /// The schemes that the most harmful layers get, the cheapest first: a later one is tried where an earlier
  /// one is not enough for all layers.
  std::vector<std::string> promotions = {"float"};
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};  ///< called with finished layers
  /// Asked before each run of the measurement, which fails with Code::cancelled if it returns true.
  std::function<bool()> stop = {};
};

/// Measures the sensitivity of the outputs to each layer. `samples` is read to its end for calibration.
/// Layers are measured without refinements of the model, such as bias correction, which are measured as a
/// whole.
ANYBIT_API Result<Sensitivity> sensitivity(const Model& model, const Recipe& recipe, Samples& samples,
                                           const SensitivityOptions& options = {}) noexcept;

/// Returns the result as a JSON object, the same in all results of anybit in JSON.
ANYBIT_API std::string to_json(const Sensitivity& sensitivity);

}  // namespace anybit
