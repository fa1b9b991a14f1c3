// Quantizes a model by a recipe.
//
//   auto recipe = anybit::Recipe::preset("int8");
//   auto samples = anybit::open_samples(*anybit::inputs_of(model), {"samples/"});
//   auto result = anybit::quantize(model, *recipe, &*samples);
//   auto saved = result->model.save("model.q.onnx");
//
// Nothing here throws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/formats.hpp"
#include "anybit/histogram.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"

namespace anybit {

class Ranges;   // anybit/calibrate.hpp
class Samples;  // anybit/samples.hpp

// What is to be quantized, and how. Copies share it.
class Recipe {
 public:
  // "int8", "w4", …: presets() lists them.
  ANYBIT_API static Result<Recipe> preset(const std::string& name) noexcept;
  // YAML, or JSON. `name` is for messages.
  ANYBIT_API static Result<Recipe> from_text(const std::string& text, const std::string& name) noexcept;
  ANYBIT_API static Result<Recipe> from_file(const std::string& path) noexcept;

  // The same with another rule, which comes last. `kind`: "global" (whose pattern is empty), "type", "name"
  // or "regex"; `scheme`: "float", the name of a preset, or parts: "{weights: int4 sym channel}".
  ANYBIT_API Result<Recipe> with(const std::string& kind, const std::string& pattern,
                                 const std::string& scheme) const noexcept;

  struct Content;

 private:
  friend struct RecipeAccess;
  explicit Recipe(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

struct RecipeInfo {
  std::string name, summary, text;
};
ANYBIT_API std::vector<RecipeInfo> recipe_presets();
// True if an operator has this name, in ONNX's world or another ("Conv", "conv2d", "linear").
ANYBIT_API bool is_operator(const std::string& name) noexcept;

struct RefinementInfo {
  std::string name, alias, summary;  // "bias-correction", "means", …
  bool needs_samples = false;
  std::vector<std::string> needs = {};  // collectors of what layers take, by name
  std::vector<FormatParameter> parameters = {};
};
// What makes up for the errors of rounding: what `refine` in a recipe may name, beside "none".
ANYBIT_API std::vector<RefinementInfo> refinement_list();

struct TargetInfo {
  std::string name, summary;
  std::string recipe;  // the preset, unless another is asked for
};
// Hardware that models are quantized for.
ANYBIT_API std::vector<TargetInfo> target_list();
// The preset of a target, by its name or the path of its file.
ANYBIT_API Result<std::string> target_recipe(const std::string& target) noexcept;

struct QuantizeOptions {
  // "generic", "ort", "nnpa", "ethos-u55-128", …, or the path of a YAML file that names one and adds
  // system_configuration and memory_mode.
  std::string target = "generic";
  // Integers are QuantizeLinear and DequantizeLinear around operators, formats that are types of ONNX go
  // through Cast. What ONNX lacks is, by "portable", functions that the model carries, so that any runtime
  // runs it; by "packed", operators that anybit alone has; by "qdq", an error, but for weights that an ONNX
  // type times scales can hold, which are DequantizeLinear. "qoperator": as qdq, with QLinearConv and the
  // like where it can be.
  std::string emit = "portable";
  int threads = 0;              // 0: one for each core
  std::int64_t max_memory = 0;  // bytes for values while samples run; 0: no limit
  bool prepare = true;          // fold constants, batch norms and the like before
  bool requantize = false;      // a model that is quantized already is quantized again, not refused
  bool allow_nan = false;       // NaN and infinity in activations are counted, not an error
  bool histograms = false;      // the report gets those of activations and weights
  bool reproducible = false;    // the same bytes on every x86-64 CPU: slower float kernels while samples run
  const Ranges* ranges = nullptr;  // of this model, gathered before: no samples are needed
  std::function<void(std::int64_t done)> progress = {};  // samples
};

// What was done, and why.
struct QuantizationReport {
  struct Node {
    std::string graph;  // "" for the model's own; else "node 'choice' (If), then_branch"
    std::string name, op;
    std::string outcome;  // "quantized", "weights only", "dynamic", "moves", "inside", "float"
    std::string what;     // "int8 asym, int8 sym channel"; empty for float
    std::string reason;   // why not, or not more
    std::vector<std::string> inputs, outputs;  // values; an input that is left out is empty
  };
  struct Tensor {
    std::string name;
    std::string spec;
    float low = 0, high = 0;  // the range that was chosen
    float seen_low = 0, seen_high = 0;
    float scale = 1;
    std::int32_t zero_point = 0;
    bool fixed = false;    // the operator's own range: nothing had to be seen
    double saturated = 0;  // share of the values seen that lie outside; negative: not known
    std::int64_t samples = 0;
    std::int64_t levels = 0;            // of the grid; 0: it is found when the model runs
    float grid_low = 0, grid_high = 0;  // its ends
    std::vector<std::string> values;    // all that share these parameters; `name` is the first
    Histogram histogram;                // of what was seen, if QuantizeOptions::histograms
  };
  struct Weight {
    std::string name;
    std::string spec;
    std::int64_t bytes_before = 0, bytes_after = 0;  // after: with scales and zero points
    double signal_to_noise = 0;                      // dB
    std::int64_t raised = 0;                         // channels whose scale was raised for their bias
    std::int64_t moved = 0;   // values that are not rounded to the nearest, so that outputs keep their sums
    std::int64_t levels = 0;  // of its grids, if they are of whole numbers
    std::int64_t scales = 0;  // how many it has
    float scale_low = 0, scale_high = 0;
    Histogram histogram;  // of the values before, if QuantizeOptions::histograms
  };
  std::string recipe;
  std::vector<Node> nodes;
  std::vector<Tensor> tensors;
  std::vector<Weight> weights;
  std::vector<std::string> remarks;
  // Weights, and activations that are multiplied like weights, with which ONNX Runtime's int8 sums may
  // saturate on x86-64 CPUs without VNNI (docs/recipes.md#reduce-range). None: its results are exact on every
  // CPU.
  std::vector<std::string> saturating;
  std::int64_t samples = 0;
  struct Refinement {
    std::string name;         // "bias-correction"
    std::int64_t layers = 0;  // that it changed
    std::string parameters;   // those that are not the defaults: "samples=16"
  };
  std::vector<Refinement> refinements;  // of the whole model; those of single weights are in `weights`
  std::int64_t weight_bytes_before = 0, weight_bytes_after = 0;  // all constants
  std::int64_t opset_before = 0, opset_after = 0;
  double prepare_seconds = 0, calibrate_seconds = 0, quantize_seconds = 0;
};

struct Quantization {
  Model model;
  QuantizationReport report;
};

// `samples` may be null if the recipe needs none (weights only, dynamic).
ANYBIT_API Result<Quantization> quantize(const Model& model, const Recipe& recipe, Samples* samples,
                                         const QuantizeOptions& options = {}) noexcept;

}  // namespace anybit
