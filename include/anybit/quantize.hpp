/// @file
/// Post-training quantization: quantizes a model by a recipe.
///
/// @code{.cpp}
/// #include "anybit/samples.hpp"
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// auto samples = anybit::open_samples(*inputs, {"samples/"});  // calibration data
/// if (!samples) return;
/// auto recipe = anybit::Recipe::preset("int8");
/// if (!recipe) return;
/// auto result = anybit::quantize(*model, *recipe, &*samples);
/// if (!result) return;
/// auto saved = result->model.save("model.q.onnx");
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/formats.hpp"
#include "anybit/histogram.hpp"
#include "anybit/model.hpp"
#include "anybit/reference_outputs.hpp"
#include "anybit/result.hpp"
#include "anybit/training.hpp"

namespace anybit {

class Ranges;   // anybit/calibrate.hpp
class Samples;  // anybit/samples.hpp

/// A recipe: rules that assign a quantization scheme to each operator. Immutable: copies are cheap and may be
/// used by different threads. docs/recipes.md has the syntax.
class Recipe {
 public:
  /// Returns a preset, "int8", "w4", …; recipe_presets() lists them. Code::not_found if there is none.
  ANYBIT_API static Result<Recipe> preset(const std::string& name) noexcept;
  /// Parses a recipe in YAML or JSON. `name` appears in error messages.
  ANYBIT_API static Result<Recipe> from_text(const std::string& text, const std::string& name) noexcept;
  /// Reads a recipe from a file.
  ANYBIT_API static Result<Recipe> from_file(const std::string& path) noexcept;

  /// Returns the recipe with a rule appended. `kind`: "global" (with an empty pattern), "type", "name" or
  /// "regex". `scheme`: "float", the name of a preset, or parts of a scheme: "{weights: int4 sym channel}".
  ANYBIT_API Result<Recipe> with(const std::string& kind, const std::string& pattern,
                                 const std::string& scheme) const noexcept;

  /// Returns the recipe with the rules of a configuration file of onnx-mlir: `quantize: true` there gives
  /// nodes this recipe's scheme, `quantize: false` and `device: cpu` leave them in float.
  ANYBIT_API Result<Recipe> configured(const std::string& path) const noexcept;

  struct Content;

 private:
  friend struct RecipeAccess;
  explicit Recipe(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

/// A preset: its name, a line about it, and its text.
struct RecipeInfo {
  std::string name, summary, text;
};
/// Returns all presets.
ANYBIT_API std::vector<RecipeInfo> recipe_presets();
/// Returns true if this is the name of an operator in ONNX or another framework ("Conv", "conv2d", "linear").
ANYBIT_API bool is_operator(const std::string& name) noexcept;

/// A refinement: an algorithm that reduces the error of a quantized model, such as bias correction.
struct RefinementInfo {
  std::string name, alias, summary;     ///< "bias-correction", "means", …
  bool needs_samples = false;           ///< it needs calibration data
  std::vector<std::string> needs = {};  ///< collectors of layer inputs, by name
  std::vector<FormatParameter> parameters = {};
};
/// Returns all refinements, which `refine` in a recipe selects.
ANYBIT_API std::vector<RefinementInfo> refinement_list();

/// A target: hardware or a runtime that models are quantized for.
struct TargetInfo {
  std::string name, summary;
  std::string recipe;  ///< default preset
};
/// Returns all targets.
ANYBIT_API std::vector<TargetInfo> target_list();
/// Returns the default preset of a target, given by its name or by the path of a target file.
ANYBIT_API Result<std::string> target_recipe(const std::string& target) noexcept;

/// Options of quantize().
struct QuantizeOptions {
  /// The target: "generic", "ort", "nnpa", "ethos-u55-128", …, or the path of a YAML file that names one and
  /// sets system_configuration and memory_mode.
  std::string target = "generic";
  /// How quantization is written. Integer formats are always QuantizeLinear and DequantizeLinear pairs, and
  /// formats that are ONNX types are Cast. For formats that ONNX does not have:
  /// - "portable": functions inside the model, which any ONNX runtime can run;
  /// - "packed": anybit's own operators on packed weights;
  /// - "qdq": an error, except for weights that an ONNX type with scales can represent (DequantizeLinear);
  /// - "qoperator": as "qdq", with QLinearConv and other integer operators where possible.
  /// "quark" writes what AMD Quark would, in MX and block floating point: an operator of its library behind
  /// every activation, weight and bias.
  std::string emit = "portable";
  /// With emit "quark", the domain of its operators: "com.amd.quark" (the default) or, for older tools,
  /// "com.vai.quantize".
  std::string domain = {};
  int threads = 0;              ///< 0: one per core
  std::int64_t max_memory = 0;  ///< bytes of activations during calibration; 0: no limit
  bool prepare = true;          ///< run prepare() first: fold constants, batch normalizations, …
  bool requantize = false;      ///< replace existing quantization; otherwise it is kept
  /// Count NaN and infinity in activations and ignore them; otherwise they are an error.
  bool allow_nan = false;
  bool histograms = false;  ///< add histograms of activations and weights to the report
  /// An operator that the recipe names and that the target does not run is an error; otherwise it stays in
  /// float, and a remark says so.
  bool strict = false;
  bool reproducible = false;  ///< bit-identical results on every x86-64 CPU; slower calibration
  /// Takes the outputs of the float model, prepared as calibration runs it, for a later compare().
  std::optional<ReferenceOutputs> outputs = {};
  /// Statistics of this model from an earlier calibration, in place of samples; not owned.
  const Ranges* ranges = nullptr;
  std::function<void(std::int64_t done)> progress = {};  ///< called with the number of finished samples
  /// Train the model behind its quantizers (docs/training.md); the samples are the training data.
  std::optional<TrainingOptions> training = {};
};

/// The report of quantize(): the outcome for every node, value and weight.
struct QuantizationReport {
  /// The outcome for a node.
  struct Node {
    std::string graph;  ///< "" for the main graph; else the subgraph, "node 'choice' (If), then_branch"
    std::string name, op;
    /// "quantized"; "weights only"; "dynamic": activations are quantized at run time; "pass-through":
    /// forwards quantized values unchanged; "fused": elementwise, between Q and DQ; "float".
    std::string outcome;
    std::string what;                          ///< the scheme: "int8 asym, int8 sym channel"; empty for float
    std::string reason;                        ///< why it is not quantized, or only in part
    std::vector<std::string> inputs, outputs;  ///< names; an omitted input is empty
  };
  /// The quantization parameters of an activation.
  struct Tensor {
    std::string name;
    std::string spec;                   ///< "int8 asym"
    float low = 0, high = 0;            ///< the chosen range
    float seen_low = 0, seen_high = 0;  ///< minimum and maximum of the calibration data
    float scale = 1;
    std::int32_t zero_point = 0;
    bool fixed = false;    ///< the range is fixed by the operator or the recipe, not by calibration
    double saturated = 0;  ///< share of the calibration values outside the range; negative: unknown
    std::int64_t samples = 0;
    std::int64_t levels = 0;            ///< number of quantization levels; 0: quantized dynamically
    float grid_low = 0, grid_high = 0;  ///< the smallest and largest representable value
    std::vector<std::string> values;    ///< all values that share these parameters; `name` is the first
    Histogram histogram;                ///< of the calibration values, with QuantizeOptions::histograms
  };
  /// The quantization of a weight.
  struct Weight {
    std::string name;
    std::string spec;
    std::int64_t bytes_before = 0, bytes_after = 0;  ///< size; after: including scales and zero points
    double sqnr = 0;                                 ///< signal-to-quantization-noise ratio, in dB
    std::int64_t scales_raised = 0;     ///< channels whose scale was increased so that their int32 bias fits
    std::int64_t rounded_for_sums = 0;  ///< values that a refinement did not round to nearest
    std::int64_t levels = 0;            ///< number of quantization levels, for integer formats
    std::int64_t scales = 0;            ///< number of scales
    float scale_low = 0, scale_high = 0;
    Histogram histogram;  ///< of the float values, with QuantizeOptions::histograms
  };
  std::string recipe;
  std::vector<Node> nodes;
  std::vector<Tensor> tensors;
  std::vector<Weight> weights;
  std::vector<std::string> remarks;
  /// Weights, and activations in the role of weights, whose int8 products may saturate the 16-bit
  /// intermediate sums of ONNX Runtime on x86-64 CPUs without VNNI (docs/recipes.md#reduce-range). Empty:
  /// results are exact on every CPU.
  std::vector<std::string> saturating;
  std::int64_t samples = 0;  ///< number of calibration samples
  /// A refinement of the whole model.
  struct Refinement {
    std::string name;         ///< "bias-correction"
    std::int64_t layers = 0;  ///< number of layers that it changed
    std::string parameters;   ///< parameters that are not defaults: "samples=16"
  };
  std::optional<TrainingReport> training = {};
  /// Weights or activations have at most 4 bits and were not trained: QuantizeOptions::training usually
  /// brings back most of the accuracy that this costs.
  bool gains_by_training = false;
  std::vector<Refinement> refinements;                           ///< those of single weights are in `weights`
  std::int64_t weight_bytes_before = 0, weight_bytes_after = 0;  ///< size of all constants
  std::int64_t opset_before = 0, opset_after = 0;
  double prepare_seconds = 0, calibrate_seconds = 0, quantize_seconds = 0;
  double train_seconds = 0;  ///< 0 without training
};

/// The result of quantize().
struct Quantization {
  Model model;
  QuantizationReport report;
};

/// Quantizes a model. `model` is not changed. `samples` is the calibration data; it may be null if the recipe
/// needs none (weight-only or dynamic quantization) or if QuantizeOptions::ranges is set. Errors:
/// Code::invalid_argument if the recipe does not fit the model or the target, or if calibration data is
/// missing; Code::unsupported if `emit` cannot express a format; Code::invalid_data for NaN or infinity.
ANYBIT_API Result<Quantization> quantize(const Model& model, const Recipe& recipe, Samples* samples,
                                         const QuantizeOptions& options = {}) noexcept;

}  // namespace anybit
