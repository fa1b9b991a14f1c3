// The refinements: what makes up for the errors of rounding. One file each, which exports its rows; recipes,
// command line, Python, report and documents read this table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "base/thread_pool.hpp"
#include "formats/table.hpp"
#include "graph/model.hpp"
#include "quantize/chosen_samples.hpp"
#include "quantize/rounding.hpp"
#include "quantize/spec.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

struct Annotation;

// What a refinement of the whole model works on.
struct Refining {
  graph::Model& model;       // in float, prepared: what is changed here is quantized then
  std::vector<int>& layers;  // nodes of the model's own graph that ask for it; those that it cannot serve go
  std::span<const Sample> samples;  // as many as the parameter `samples` says, if there are so many
  const formats::Values& parameters;
  // The model as it would be quantized now.
  std::function<Result<graph::Model>()> quantized;
  runtime::ExecutorOptions options;
};

struct Descriptor {
  std::string_view name;   // "bias-correction"
  std::string_view alias;  // another name, in recipes and options
  std::string_view summary;
  // When it has its turn.
  enum class Phase : std::uint8_t {
    graph,     // before calibration, on the graph
    rounding,  // when a weight is rounded
    after,     // once ranges are known, before the model is written
  } phase = Phase::rounding;
  bool needs_samples = false;  // some of them, run by itself: it has the whole number `samples` as parameter
  // Collectors (calibrate/collector_table.hpp) of what layers take. Phase::rounding: they are gathered with
  // the ranges, and are in the task in this order, layer by layer.
  std::vector<std::string_view> needs = {};
  std::vector<formats::Parameter> parameters = {};
  std::string_view includes = {};  // another row that belongs to it
  // Layers that it is for; null: all that have weights.
  bool (*serves)(const graph::Node& node) = nullptr;
  // Of its phase. Phase::rounding: of one weight.
  Rounded (*round)(const RoundingTask& task) = nullptr;
  // The others: how many layers were changed.
  Result<std::int64_t> (*refine)(Refining& work) = nullptr;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

// By name or alias; null: there is none.
const Descriptor* find_refinement(std::string_view name);
// What a row needs of the layer that takes a weight of these dims as its input `weight`.
std::vector<calibrate::WantedOf> needs_of(const Descriptor& row, const graph::Node& node, int weight,
                                          std::span<const std::int64_t> dims);

// A list of refinements as it is read, with what they include. Errors for names and values that cannot be.
class RefinementReader {
 public:
  using Given = std::vector<std::pair<std::string, std::string>>;  // parameters and their values, as texts

  // By name or alias; "none" adds nothing.
  Result<void> add(std::string_view name, const Given& parameters = {});
  // "sum-preserving-rounding, bias-correction:samples=16:…".
  Result<void> add_text(std::string_view text);
  std::vector<Refinement> take() { return std::move(list_); }

 private:
  std::vector<Refinement> list_;
  std::vector<std::string_view> named_;  // not only included
};
// What was given of a row's parameters, in the same words: "samples=16"; empty: all are the defaults.
std::string parameter_text(const Descriptor& row, const formats::Values& parameters);
// "none, sum-preserving-rounding (sums), …", for hints.
std::string refinement_names();

}  // namespace anybit::quantizing
