// Takes one model through all of anybit: load, inspect, prepare, quantize, run, generate. Checks properties
// that hold for every model; the caller handles violations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/codegen.hpp"
#include "anybit/executor.hpp"
#include "anybit/inspect.hpp"
#include "anybit/model.hpp"
#include "anybit/prepare.hpp"
#include "anybit/quantize.hpp"
#include "anybit/samples.hpp"

namespace anybit::through {

// The seed chooses the recipe and the random inputs.
struct Options {
  std::uint64_t seed = 0;
  std::string code;                        // path of the generated code; empty: none
  std::vector<std::string> plugins;        // folders of generators
  std::int64_t largest_work = 20'000'000;  // multiply-accumulates; larger models are not run
  std::function<void(const char* stage)> entered = [](const char*) {};
  std::function<void(const std::string& what)> violated;
};

inline constexpr std::string_view kRecipes[] = {"int8",  "w4",     "dynamic-int8", "mxfp4", "ternary",
                                                "int16", "fp8",    "w8",           "mx6",   "binary",
                                                "uint8", "int8x4", "float16",      "log8",  "nvfp4"};

inline LoadOptions small_limits() {
  LoadOptions options;
  options.limits.elements = 1 << 24;
  options.limits.nodes = 20'000;
  options.limits.work_bytes = 16 << 20;
  options.limits.work_elements = 1 << 24;
  options.limits.work_nodes = 20'000;
  return options;
}

// Whether results may differ between runs because the model draws random numbers.
inline bool draws(const Inspection& inspection) {
  constexpr std::string_view kRandom[] = {"Bernoulli",        "Dropout",       "Multinomial",
                                          "RandomNormal",     "RandomUniform", "RandomNormalLike",
                                          "RandomUniformLike"};
  return std::ranges::any_of(inspection.operators, [&](const Inspection::Operator& one) {
    return std::ranges::find(kRandom, one.name) != std::end(kRandom);
  });
}

// The share of elements that differ by more than a thousandth of the largest; NaN equals NaN. 0 if any value
// is very large: there, rounding decides about overflow.
inline double share_of_differences(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (const auto* list : {&a, &b}) {
    for (const float one : *list) {
      if (std::isinf(one) || std::abs(one) > 1e6f) return 0;
      if (!std::isnan(one)) largest = std::max(largest, std::abs(one));
    }
  }
  std::size_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) || std::isnan(b[i]))
      differ += std::isnan(a[i]) != std::isnan(b[i]);
    else
      differ += std::abs(a[i] - b[i]) > 1e-3f * largest + 1e-6f;
  }
  return a.empty() ? 0 : static_cast<double>(differ) / static_cast<double>(a.size());
}

inline std::string first_difference(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return "another number of outputs";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != b[i].kind) return "output " + std::to_string(i) + " is of another kind";
    if (a[i].kind != Value::Kind::tensor || a[i].tensor.type != "float32") continue;
    if (a[i].tensor.type != b[i].tensor.type || a[i].tensor.dims != b[i].tensor.dims)
      return "output " + std::to_string(i) + " is of another type or shape";
    const auto left = a[i].tensor.to_floats(), right = b[i].tensor.to_floats();
    if (left.ok() && right.ok() && share_of_differences(*left, *right) > 0.05)
      return "output " + std::to_string(i) + " differs";
  }
  return {};
}

class Journey {
 public:
  Journey(std::string_view bytes, const Options& options) : bytes_(bytes), options_(options) {}

  // False if loading failed.
  bool go() {
    options_.entered("load");
    const auto model = Model::from_bytes(bytes_, small_limits());
    if (!model.ok()) {
      check(!model.error().text().empty(), "an error without a message");
      return false;
    }
    options_.entered("inspect");
    const auto inspection = inspect(*model);
    const bool light = inspection.ok() && inspection->macs <= options_.largest_work;
    draws_ = inspection.ok() && draws(*inspection);
    options_.entered("prepare");
    const auto prepared = prepare(*model);
    if (prepared.ok()) check_loads(prepared->model, "a prepared model must load");
    if (light) run_all(*model, prepared.ok() ? &prepared->model : nullptr);
    if (light) quantize_it(*model);
    if (!options_.code.empty()) generate(*model);
    return true;
  }

 private:
  void check(bool holds, const std::string& what) const {
    if (!holds) options_.violated(what);
  }

  void check_loads(const Model& model, const std::string& what) const {
    const auto bytes = model.to_bytes();
    if (!bytes.ok()) return check(false, what + ": " + bytes.error().text());
    const auto again = Model::from_bytes(*bytes);
    check(again.ok(), what + (again.ok() ? "" : ": " + again.error().text()));
  }

  std::map<std::string, Value> inputs_of(const Executor& executor, std::uint64_t seed) const {
    std::map<std::string, Value> inputs;
    for (const Port& port : executor.inputs()) {
      auto value = random_value(port, {}, seed);
      if (port.required && value.ok()) inputs.emplace(port.name, *std::move(value));
    }
    return inputs;
  }

  Result<std::vector<Value>> run(const Model& model, bool fuse) const {
    const auto executor =
        Executor::make(model, {.threads = 1, .max_memory = std::int64_t{256} << 20, .fuse = fuse});
    if (!executor.ok()) return executor.error();
    return executor->run(inputs_of(*executor, options_.seed));
  }

  void run_all(const Model& model, const Model* prepared) {
    options_.entered("run");
    const auto fused = run(model, true), plain = run(model, false);
    ran_ = true;
    runs_ = fused.ok();
    why_not_ = runs_ ? "" : fused.error().text();
    // Fusions change the memory plan.
    const bool memory = is_limit(fused) || is_limit(plain);
    if (!memory)
      check(fused.ok() == plain.ok(), "with or without fusions, only one runs: " + text(fused) + text(plain));
    const bool same = plain.ok() && !draws_;
    if (fused.ok() && same) agree(*plain, *fused, "fused and unfused");
    if (!prepared || !runs_ || !same) return;
    options_.entered("run prepared");
    const auto after = run(*prepared, true);
    check(after.ok() || is_limit(after), "the prepared model does not run: " + text(after));
    if (after.ok()) agree(*fused, *after, "prepared and original");
  }

  void agree(const std::vector<Value>& a, const std::vector<Value>& b, const char* what) const {
    const std::string difference = first_difference(a, b);
    check(difference.empty(), std::string(what) + ": " + difference);
  }

  template <class T>
  static bool is_limit(const Result<T>& result) {
    return !result.ok() &&
           (result.error().code == Code::limit_exceeded || result.error().code == Code::out_of_memory);
  }
  template <class T>
  static std::string text(const Result<T>& result) {
    return result.ok() ? std::string() : result.error().text();
  }

  void quantize_it(const Model& model) const {
    options_.entered("quantize");
    const auto recipe = Recipe::preset(std::string(kRecipes[options_.seed % std::size(kRecipes)]));
    const auto ports = anybit::inputs_of(model);
    if (!recipe.ok() || !ports.ok()) return check(recipe.ok(), "a preset is missing");
    std::uint64_t made = 0;
    auto samples = Samples::from([&]() -> Result<std::optional<Sample>> {
      if (++made > 2) return std::optional<Sample>();
      Sample sample;
      for (const Port& port : *ports) {
        auto value = random_value(port, {}, options_.seed + made);
        if (port.required && value.ok()) sample.emplace(port.name, *std::move(value));
      }
      return std::optional(std::move(sample));
    });
    const QuantizeOptions options{.emit = options_.seed & 64 ? "qdq" : "portable",
                                  .threads = 1,
                                  .max_memory = std::int64_t{256} << 20,
                                  .requantize = (options_.seed & 128) != 0,
                                  .allow_nan = true};
    const auto done = quantize(model, *recipe, &*samples, options);
    if (!done.ok()) return;
    check_loads(done->model, "a quantized model must load");
    options_.entered("run quantized");
    static_cast<void>(run(done->model, true));
  }

  void generate(const Model& model) const {
    options_.entered("codegen");
    CodegenOptions options;
    options.folders = options_.plugins;
    const auto executor_inputs = anybit::inputs_of(model);
    for (const Port& port : executor_inputs.ok() ? *executor_inputs : std::vector<Port>()) {
      std::vector<std::int64_t> dims = port.dims;
      for (std::int64_t& one : dims) one = one < 0 ? 1 : one;
      if (port.has_rank && port.required) options.shapes[port.name] = dims;
    }
    const auto code = generate_code(model, "c-gen", options_.code, options);
    // A run may fail because of values or memory. Errors about shapes and types must come from code
    // generation, too.
    if (ran_ && !runs_ && code.ok() && !runs_with_other_values(model))
      check(false, "code is generated for a model that cannot run: " + why_not_);
  }

  // Also runs with all input bytes 0, and with each 8-byte element 1.
  bool runs_with_other_values(const Model& model) const {
    const auto executor = Executor::make(model, {.threads = 1, .max_memory = std::int64_t{256} << 20});
    if (!executor.ok()) return false;
    for (const std::uint64_t element : {0, 1}) {
      auto inputs = inputs_of(*executor, options_.seed);
      for (auto& [name, value] : inputs) fill(value, element);
      const auto done = executor->run(inputs);
      if (done.ok() || is_limit(done)) return true;
    }
    return false;
  }

  static void fill(Value& value, std::uint64_t element) {
    for (Value& item : value.items) fill(item, element);
    const auto bytes = std::make_shared<std::vector<std::byte>>(value.tensor.bytes.size());
    for (std::size_t i = 0; i < bytes->size(); i += sizeof element)
      (*bytes)[i] = static_cast<std::byte>(element);
    value.tensor.bytes = *bytes;
    value.tensor.owner = bytes;
  }

  std::string_view bytes_;
  const Options& options_;
  bool ran_ = false, runs_ = false;
  bool draws_ = false;  // the model draws random numbers
  std::string why_not_;
};

}  // namespace anybit::through
