// The quantizer: from a float model and a recipe to a quantized model. Prepares, annotates, calibrates,
// chooses parameters, and lowers.
#pragma once

#include <memory>

#include "anybit/quantize.hpp"
#include "calibrate/gather.hpp"
#include "graph/model.hpp"
#include "lower/functions.hpp"
#include "quantize/annotation.hpp"
#include "quantize/recipe.hpp"
#include "quantize/target.hpp"

namespace anybit::quantizing {

struct Settings {
  runtime::ExecutorOptions executor = {};  // threads, memory and limits of all execution
  bool prepare = true;
  bool requantize = false;
  bool histograms = false;
  bool qoperator = false;         // integer operators instead of Q/DQ pairs
  std::string quark = {};         // the domain of AMD Quark's operators, which are written; empty: not these
  bool may_find_nothing = false;  // a recipe that quantizes nothing is no error
  lower::Functions::Mode functions = lower::Functions::Mode::carried;  // for formats that ONNX lacks
  Target target;
  calibrate::GatherOptions gather;
  // Statistics by value from an earlier calibration; the model is then not run.
  const std::map<std::string, calibrate::Statistics>* known = nullptr;
  std::optional<TrainingOptions> training = {};
};

struct Outcomes {
  graph::Model model;
  QuantizationReport report;
};

// A model as it is calibrated: prepared, in the opset that the recipe needs, and annotated.
struct Prepared {
  std::shared_ptr<graph::Model> model;
  Annotation annotation;
};
// An error if the recipe finds nothing to quantize, or if the model is quantized already.
Result<Prepared> prepare(const graph::Model& model, const Recipe& recipe, const Settings& settings);

// `next` may be empty if the recipe needs no calibration data.
Result<Outcomes> quantize(const graph::Model& model, const Recipe& recipe, const calibrate::NextSample& next,
                          const Settings& settings);

}  // namespace anybit::quantizing
