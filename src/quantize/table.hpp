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
#include "graph/model.hpp"
#include "quantize/chosen_samples.hpp"
#include "quantize/rounding.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

struct Annotation;

// What a refinement of the whole model works on.
struct Refining {
  graph::Model& model;       // in float, prepared: what is changed here is quantized then
  std::vector<int>& layers;  // nodes of the model's own graph that ask for it; those that it cannot serve go
  std::span<const Sample> samples;
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
  enum class Needs : std::uint8_t { nothing, samples } needs = Needs::nothing;
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
// The names in a list, "sum-preserving-rounding, bias-correction", and what they include; none for "none". An
// error for a name that there is not.
Result<std::vector<std::string>> read_refinements(std::string_view text);
// "none, sum-preserving-rounding (sums), …", for hints.
std::string refinement_names();

}  // namespace anybit::quantizing
