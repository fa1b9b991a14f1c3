#include "quantize_recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "format_text.hpp"
#include "options.hpp"
#include "recipe_options.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

std::string dynamic_weights(bool nnpa, bool symmetric) {
  if (nnpa) return symmetric ? "int8 sym tensor" : "int8 asym tensor";
  return symmetric ? "uint8 sym channel" : "uint8 asym tensor";  // few runtimes have zero points per channel
}

std::string dynamic_data(bool nnpa, bool symmetric) {
  return symmetric ? "int8 sym dynamic" : nnpa ? "int8 asym dynamic" : "uint8 asym dynamic";
}

// onnx-mlir's equations have no refinement.
std::string dynamic_refinement(bool nnpa) { return nnpa ? "" : ", refine: sums"; }

// Each layer gets the best of the four combinations. Operators that --op-types names are quantized in any
// case.
std::string dynamic_choice(bool nnpa, bool may_be_float) {
  std::string list;
  for (const bool weight : {true, false}) {
    for (const bool data : {false, true})
      list += fmt::format("{}{{weights: {}, activations: {}}}", list.empty() ? "" : ", ",
                          dynamic_weights(nnpa, weight), dynamic_data(nnpa, data));
  }
  return fmt::format("{{choose: [{}{}]{}}}", list, may_be_float ? ", float" : "", dynamic_refinement(nnpa));
}

// The scheme of --dynamic=symActivation|asymActivation,symWeight|asymWeight, in any order. Without a value
// anybit chooses for each layer; with one word, the other is as in onnx-mlir: asymActivation, symWeight.
Result<std::string> dynamic_scheme(const RecipeFlags& flags) {
  constexpr const char* kWords = "symActivation or asymActivation, symWeight or asymWeight, comma-separated";
  const bool nnpa = flags.target == "nnpa";
  if (flags.dynamic == "true") return dynamic_choice(nnpa, flags.op_types.empty());
  std::string data, weight;  // the given words
  for (const std::string& word : comma_separated({flags.dynamic})) {
    const bool about_data = word == "symActivation" || word == "asymActivation";
    if (!about_data && word != "symWeight" && word != "asymWeight")
      return Error{Code::invalid_argument,
                   fmt::format("--dynamic={}: unknown word '{}'", flags.dynamic, word),
                   {},
                   kWords};
    std::string& given = about_data ? data : weight;
    if (!given.empty() && given != word)
      return Error{Code::invalid_argument,
                   fmt::format("--dynamic={}: {} and {} contradict each other", flags.dynamic, given, word),
                   {},
                   kWords};
    given = word;
  }
  return fmt::format("{{weights: {}, activations: {}{}}}", dynamic_weights(nnpa, weight != "asymWeight"),
                     dynamic_data(nnpa, data == "symActivation"), dynamic_refinement(nnpa));
}

// The scheme of all nodes, or of those of --op-types.
Result<std::string> scheme_text(const RecipeFlags& flags) {
  if (!flags.dynamic.empty()) return dynamic_scheme(flags);
  if (!flags.recipe.empty()) return flags.recipe;
  if (flags.weight_only) return std::string("w8");
  return target_recipe(flags.target);
}

// Rejects combinations in which one option would have no effect.
Result<void> check_together(const RecipeFlags& flags) {
  const auto refused = [](std::string what, std::string hint) {
    return Error{Code::invalid_argument, std::move(what), {}, std::move(hint)};
  };
  if (!flags.dynamic.empty() && !flags.recipe.empty())
    return refused("--dynamic and --recipe exclude each other",
                   "one of them; in a recipe: activations: uint8 asym dynamic");
  if (!flags.dynamic.empty() && flags.weight_only)
    return refused("--dynamic quantizes activations, --weight-only leaves them in float", "one of them");
  if (!flags.reduce_range.empty() && flags.reduce_range != "pairs" && flags.reduce_range != "none")
    return refused(fmt::format("--reduce-range: unknown value '{}'", printable(flags.reduce_range)),
                   "pairs or none");
  if (!is_file(flags.recipe)) return {};
  if (!flags.op_types.empty())
    return refused("--op-types is for presets; a recipe file has its own rules",
                   "global: float and type: {Conv: int8} in the file");
  if (flags.weight_only)
    return refused("--weight-only is for presets; a recipe file has its own rules",
                   "activations: float in the file");
  if (!flags.refine.empty())
    return refused("--refine is for presets; a recipe file has its own rules",
                   "refine: sum-preserving-rounding beside weights in the file");
  if (!flags.reduce_range.empty())
    return refused("--reduce-range is for presets; a recipe file has its own rules",
                   "reduce_range: none beside weights in the file");
  return {};
}

// MatMul includes Gemm, which preparation fuses it to.
std::vector<std::string> op_types(const RecipeFlags& flags) {
  std::vector<std::string> types;
  for (const std::string& type : comma_separated(flags.op_types)) {
    types.push_back(type);
    if (type == "MatMul") types.emplace_back("Gemm");
  }
  return types;
}

// The configuration file is the recipe, unless there is another that it modifies.
bool has_config_alone(const RecipeFlags& flags) {
  return !flags.config.empty() && flags.recipe.empty() && flags.dynamic.empty() && flags.op_types.empty() &&
         !flags.weight_only;
}

Result<Recipe> base_recipe(const RecipeFlags& flags) {
  if (has_config_alone(flags)) return named_recipe(flags.config);
  if (flags.dynamic.empty() && is_file(flags.recipe)) return named_recipe(flags.recipe);
  auto scheme = scheme_text(flags);
  if (!scheme.ok()) return std::move(scheme).error();
  if (flags.op_types.empty() && flags.dynamic.empty()) return named_recipe(*scheme);
  const std::string name = flags.dynamic.empty() ? *scheme : "--dynamic";
  if (flags.op_types.empty()) return Recipe::from_text(fmt::format("global: {}", *scheme), name);
  auto recipe = Recipe::from_text("global: float", name);
  for (const std::string& type : op_types(flags)) {
    if (recipe.ok()) recipe = recipe->with("type", type, *scheme);
  }
  return recipe;
}

// Adds a rule for all nodes, or for those of --op-types.
Result<Recipe> with_for_all(Result<Recipe> recipe, const RecipeFlags& flags, const std::string& scheme) {
  if (flags.op_types.empty()) return recipe.ok() ? recipe->with("global", "", scheme) : recipe;
  for (const std::string& type : op_types(flags)) {
    if (recipe.ok()) recipe = recipe->with("type", type, scheme);
  }
  return recipe;
}

Error refused_machine(std::string what, std::string hint) {
  return {Code::invalid_argument, std::move(what), {}, std::move(hint)};
}

}  // namespace

// arch15 (z17) is the machine of Telum II, the first that multiplies 8-bit integers.
Result<void> read_machine(RecipeFlags& flags) {
  const bool telum2 = flags.machine == "arch15" || flags.machine == "z17";
  if (!flags.machine.empty() && !telum2)
    return refused_machine(
        fmt::format("--march={}: 8-bit quantization for NNPA needs Telum II", printable(flags.machine)),
        "-march=arch15 (or z17)");
  if (!flags.config.empty() && flags.target == "generic") flags.target = "nnpa";
  if (flags.accelerator.empty()) return {};
  if (flags.accelerator != "NNPA")
    return refused_machine(fmt::format("--maccel={}: no such accelerator", printable(flags.accelerator)),
                           "-maccel=NNPA, or --target");
  if (flags.target != "generic" && flags.target != "nnpa")
    return refused_machine(
        fmt::format("--maccel=NNPA and --target {} contradict each other", printable(flags.target)),
        "one of them");
  flags.target = "nnpa";
  return {};
}

Result<Recipe> recipe_of(const RecipeFlags& flags) {
  if (auto checked = check_together(flags); !checked.ok()) return std::move(checked).error();
  auto recipe = base_recipe(flags);
  if (!recipe.ok()) return recipe;
  if (!flags.config.empty() && !has_config_alone(flags)) {
    recipe = recipe->configured(flags.config);
    if (!recipe.ok()) return wrong_call(in_file(std::move(recipe).error(), flags.config));
  }
  if (flags.weight_only)
    recipe = with_for_all(std::move(recipe), flags, "{activations: float, refine: sums}");
  if (!flags.refine.empty())
    recipe = with_for_all(std::move(recipe), flags, fmt::format("{{refine: [{}]}}", flags.refine));
  if (!flags.reduce_range.empty())
    recipe = with_for_all(std::move(recipe), flags, fmt::format("{{reduce_range: {}}}", flags.reduce_range));
  return excluding(std::move(recipe), flags.exclude);
}

std::vector<std::string> one_dash_options() {
  return {"maccel",
          "march",
          "mcpu",
          "nnpa-quant-dynamic",
          "nnpa-quant-op-types",
          "config-file",
          "nnpa-load-config-file"};
}

void add_recipe_options(CLI::App& app, RecipeFlags& flags) {
  flags.target = "generic";
  app.add_option("-r,--recipe", flags.recipe, "A preset (int8, w8, w4, dynamic-int8, …) or a file [int8]");
  app.add_flag("--dynamic,--nnpa-quant-dynamic", flags.dynamic,
               "Quantize activations at run time: "
               "--dynamic=symActivation|asymActivation,symWeight|asymWeight; without a value each layer "
               "gets the best of the four, or stays in float");
  app.add_option("--config-file,--nnpa-load-config-file", flags.config,
                 "A configuration file of onnx-mlir: which nodes are quantized, and which run on the CPU");
  app.add_flag("--weight-only", flags.weight_only,
               "Leave activations in float (recipe w8 unless one is given)");
  std::string refinements = "Refinements of the quantized model, comma-separated: none";
  for (const RefinementInfo& one : refinement_list()) {
    refinements += fmt::format("; {} or {}: {}", one.name, one.alias, one.summary);
    for (const FormatParameter& parameter : one.parameters)
      refinements += fmt::format(", {}:{}={} ({})", one.alias, parameter.name, value_text(parameter.preset),
                                 parameter.doc);
  }
  app.add_option("--refine", flags.refine, refinements);
  app.add_option("--reduce-range", flags.reduce_range,
                 "pairs or on: limit int8 weights so that 16-bit sums of pairs cannot saturate in ONNX "
                 "Runtime on CPUs without VNNI; none: the full range [pairs if the target may saturate]")
      ->transform([](const std::string& value) { return value == "on" ? "pairs" : value; });
  app.add_option("--op-types,--nnpa-quant-op-types", flags.op_types,
                 "Quantize only these operators, comma-separated: MatMul (includes Gemm), Conv, …")
      ->allow_extra_args(false);
  add_exclude_option(app, flags.exclude);
  app.add_option("--target", flags.target,
                 "The hardware or runtime: generic, ort, nnpa, ethos-u55-128, …; or a file [generic]");
  app.add_option("--maccel", flags.accelerator, "NNPA: --target nnpa, as onnx-mlir writes it")->group("");
  app.add_option("--march,--mcpu", flags.machine, "arch15 or z17: the machine that has NNPA")->group("");
}

}  // namespace anybit::cli
