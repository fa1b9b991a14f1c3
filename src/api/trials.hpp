// Trials: a model is quantized by variants of a recipe, and its outputs are compared with those of the float
// model. Only what depends on the changed layer runs; the values before it are kept from one run of the
// model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "anybit/sensitivity.hpp"
#include "api/states.hpp"
#include "passes/part.hpp"
#include "quantize/quantize.hpp"

namespace anybit {

using NamedValues = std::map<std::string, ops::Datum>;

// The parts of each output of the model; none for an output that was not computed.
using PartsOfOutputs = std::vector<std::vector<OutputPart>>;

// The part that suffers most.
Effect effect_of(const PartsOfOutputs& parts);

class Trials {
 public:
  // `model` is prepared (quantizing::prepare). `settings` has its statistics.
  // The first `measured` samples are for the measurement, all of them for refinements.
  Trials(std::shared_ptr<const graph::Model> model, quantizing::Settings settings,
         std::vector<quantizing::Sample> samples, std::size_t measured, std::function<bool()> stop = {});

  // Runs the float model. `keep`: values whose sizes are needed later.
  Result<void> start(const std::set<std::string>& keep);
  // Bytes of a value over all samples; nothing if it is not a tensor.
  std::optional<std::int64_t> bytes_of(const std::string& value) const;

  // The outputs of the model that is quantized by a variant of the recipe. `refined`: with its refinements,
  // which run on these samples. `anything`: whether anything is quantized.
  Result<PartsOfOutputs> whole(const quantizing::Recipe& recipe, bool refined, bool* anything = nullptr);
  // Keeps values of the float model and of the model that is quantized by `recipe`.
  Result<void> keep(const std::set<std::string>& values, const quantizing::Recipe& recipe);
  // Only some nodes are quantized (Recipe::only): values before `behind` are those of the float model.
  Result<PartsOfOutputs> alone(const quantizing::Recipe& recipe, const passes::Behind& behind);
  // The recipe leaves a node in float: values before it are those of the quantized model.
  Result<PartsOfOutputs> left(const quantizing::Recipe& recipe, const passes::Behind& behind);

  Result<quantizing::Outcomes> quantized(const quantizing::Recipe& recipe, bool refined = false) const;
  std::int64_t runs() const { return runs_; }
  std::int64_t samples() const { return std::ssize(samples_); }

 private:
  // Before each run: fails if the caller wants to stop.
  Result<void> begin_run();
  Result<std::vector<NamedValues>> values_of(const graph::Model& model, const std::set<std::string>& values);
  Result<PartsOfOutputs> part(const quantizing::Recipe& recipe, const passes::Behind& behind,
                              const std::vector<NamedValues>& given);
  Result<PartsOfOutputs> compared(const graph::Model& model, const std::vector<NamedValues>& inputs,
                                  const std::vector<std::size_t>& outputs);
  // The names in `model` of values of the float model, as they are before they are quantized.
  std::map<std::string, std::string> raw_names(const graph::Model& model,
                                               const std::set<std::string>& values) const;

  std::shared_ptr<const graph::Model> model_;
  graph::Index index_;
  States states_;
  quantizing::Settings settings_;
  std::vector<NamedValues> all_samples_, samples_;
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  std::vector<std::vector<ops::Datum>> expected_;  // outputs of the float model, by sample
  std::map<std::string, std::int64_t> bytes_;
  std::vector<NamedValues> of_float_, of_quantized_;  // kept values, by sample
  std::int64_t runs_ = 0;
  std::function<bool()> stop_;
};

}  // namespace anybit
