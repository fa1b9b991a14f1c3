// The table of refinements: algorithms that reduce the error of a quantized model. Each file exports its
// rows. Recipes, command line, Python, report and documents read this table.
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
#include "refine/chosen_samples.hpp"
#include "refine/layer_sums.hpp"
#include "refine/rounding.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

// A refinement with all of its parameters: a row of table.hpp, by name.
struct Refinement {
  std::string name;
  formats::Values parameters = {};
  bool optional = false;  // "gptq?": only if its calibration data are at hand, without a remark otherwise
  friend bool operator==(const Refinement&, const Refinement&) = default;
};

// How a layer will be quantized; 0 bits: in float. For minifloats the bits of a code.
struct LayerBits {
  int data = 8, weights = 8;
  std::int64_t block = 0;  // weights per scale along the reduction; 0: all of an output
};

// The arguments of a refinement of the whole model.
struct Refining {
  graph::Model& model;       // prepared float model; changes are quantized afterwards
  std::vector<int>& layers;  // nodes of the main graph that request it; it removes those that it cannot serve
  std::span<const Sample> samples;  // at most as many as the parameter `samples`
  const formats::Values& parameters;
  // Returns the model as it would be quantized now.
  std::function<Result<graph::Model>()> quantized;
  runtime::ExecutorOptions options;
  // Of a node of the main graph.
  std::function<LayerBits(int node)> bits = {};
  FloatSums seen = {};  // of these samples, if calibration gathered them
};

struct Descriptor {
  std::string_view name;   // "bias-correction"
  std::string_view alias;  // alternative name
  std::string_view summary;
  // When it runs.
  enum class Phase : std::uint8_t {
    graph,     // before calibration, on the graph
    ranges,    // when the scales of a weight are chosen (range_search.hpp)
    rounding,  // when a weight is rounded
    after,     // after calibration, before lowering
  } phase = Phase::rounding;
  bool needs_samples = false;  // runs the model itself on samples; has an integer parameter `samples`
  bool compares_sums = false;  // of the layers' outputs; calibration gathers those of the float model
  // Collectors of layer inputs (calibrate/collector_table.hpp). For Phase::rounding they run during
  // calibration, and the task has their results in this order, layer by layer.
  std::vector<std::string_view> needs = {};
  std::vector<formats::Parameter> parameters = {};
  std::string_view includes = {};  // another row that it implies
  // The layers that it applies to; null: all with weights.
  bool (*serves)(const graph::Node& node) = nullptr;
  // For Phase::rounding: rounds one weight.
  Rounded (*round)(const RoundingTask& task) = nullptr;
  // For the other phases: returns the number of changed layers.
  Result<std::int64_t> (*refine)(Refining& work) = nullptr;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

// By name or alias; null if there is none.
const Descriptor* find_refinement(std::string_view name);
// The collectors that a row needs for a layer with a weight of these dims as input `weight`.
std::vector<calibrate::WantedOf> needs_of(const Descriptor& row, const graph::Node& node, int weight,
                                          std::span<const std::int64_t> dims);

// Reads a list of refinements, and adds those that they imply. An error for unknown names and invalid values.
class RefinementReader {
 public:
  using Given = std::vector<std::pair<std::string, std::string>>;  // parameter names and values

  // By name or alias, with a question mark behind it if it is optional; "none" adds nothing.
  Result<void> add(std::string_view name, const Given& parameters = {});
  // "sum-preserving-rounding, bias-correction:samples=16:…".
  Result<void> add_text(std::string_view text);
  std::vector<Refinement> take() { return std::move(list_); }

 private:
  std::vector<Refinement> list_;
  std::vector<std::string_view> named_;  // without implied rows
};
// The parameters that are not defaults, "samples=16"; empty if there are none.
std::string parameter_text(const Descriptor& row, const formats::Values& parameters);
// "none, sum-preserving-rounding (sums), …", for hints.
std::string refinement_names();

}  // namespace anybit::quantizing
