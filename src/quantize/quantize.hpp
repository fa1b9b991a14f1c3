// From a float model and a recipe to a quantized model: prepare, annotate, calibrate, choose parameters,
// write.
#pragma once

#include <memory>

#include "anybit/quantize.hpp"
#include "calibrate/gather.hpp"
#include "graph/model.hpp"
#include "lower/functions.hpp"
#include "quantize/recipe.hpp"
#include "quantize/target.hpp"

namespace anybit::quantizing {

struct Settings {
  runtime::ExecutorOptions executor = {};  // threads, memory and limits of all that is run or folded
  bool prepare = true;
  bool requantize = false;
  bool histograms = false;
  bool qoperator = false;  // integer operators, not QuantizeLinear and DequantizeLinear
  lower::Functions::Mode functions = lower::Functions::Mode::carried;  // formats that ONNX lacks
  Target target;
  calibrate::GatherOptions gather;
  // What was gathered before, by value: nothing is run then.
  const std::map<std::string, calibrate::Statistics>* known = nullptr;
};

struct Outcomes {
  graph::Model model;
  QuantizationReport report;
};

// `next` may be empty if the recipe needs no samples.
Result<Outcomes> quantize(const graph::Model& model, const Recipe& recipe, const calibrate::NextSample& next,
                          const Settings& settings);

}  // namespace anybit::quantizing
