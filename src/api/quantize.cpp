#include "anybit/quantize.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "api/constant_inputs.hpp"
#include "api/executor_options.hpp"
#include "api/model_access.hpp"
#include "api/quantize_settings.hpp"
#include "api/ranges.hpp"
#include "api/reference_outputs.hpp"
#include "api/sample_stream.hpp"
#include "base/cpu.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/mapped_file.hpp"
#include "base/reproducible.hpp"
#include "base/try.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "quantize/match.hpp"
#include "quantize/quantize.hpp"
#include "refine/table.hpp"
#include "train/options.hpp"

namespace anybit {

namespace {

Result<std::string> text_of_file(const std::string& path) {
  const auto file = TRY(MappedFile::open(path));
  std::string text(file->bytes().text());
  TRY(file->intact());
  return text;
}

Result<quantizing::Target> target_of(const std::string& name) {
  const bool is_file =
      name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
  if (!is_file) return quantizing::find_target(name);
  return quantizing::read_target(TRY(text_of_file(name)), name);
}

using NamedData = std::map<std::string, ops::Datum>;

// An input with a default counts as an input if the samples contain it.
std::set<std::string> names_of(const std::optional<NamedData>& sample) {
  std::set<std::string> names;
  if (!sample) return names;
  for (const auto& [name, datum] : *sample) names.insert(name);
  return names;
}

void remark_constants(const Model& before, const Model& after, QuantizationReport& report) {
  const std::size_t count = ModelAccess::content(before).model.graph->inputs.size() -
                            ModelAccess::content(after).model.graph->inputs.size();
  if (count == 0) return;
  report.remarks.push_back(
      fmt::format("weights that the model lists among its inputs are constants now: {}", count));
}

void remark_declarations(const Model& model, QuantizationReport& report) {
  constexpr std::size_t kTold = 5;
  const std::vector<Error>& all = model.remarks();
  for (std::size_t i = 0; i < std::min(all.size(), kTold); ++i)
    report.remarks.push_back(fmt::format("{}: {}", all[i].place, all[i].message));
  if (all.size() > kTold)
    report.remarks.push_back(
        fmt::format("{} more shapes are declared wrongly, and corrected: 'anybit inspect' lists them",
                    all.size() - kTold));
}

}  // namespace

Result<quantizing::Settings> settings_of(const Model& model, const quantizing::Recipe& recipe,
                                         const QuantizeOptions& options) {
  if (options.threads < 0 || options.threads > 1024)
    return invalid_argument(fmt::format("{} threads", options.threads), "1 to 1024, or 0 for one per core");
  using Mode = lower::Functions::Mode;
  static constexpr std::string_view kEmits[] = {"portable", "qdq", "qoperator", "packed", "quark"};
  static constexpr std::string_view kDomains[] = {ops::kQuark, ops::kVitis};
  const std::string domain = options.domain.empty() ? std::string(ops::kQuark) : options.domain;
  if (std::ranges::find(kDomains, domain) == std::end(kDomains))
    return invalid_argument(fmt::format("domain '{}'", shown(domain)),
                            fmt::format("one of {}", fmt::join(kDomains, ", ")));
  if (!options.domain.empty() && options.emit != "quark")
    return invalid_argument(fmt::format("domain '{}' with emit '{}'", domain, options.emit), "emit 'quark'");
  if (std::ranges::find(kEmits, options.emit) == std::end(kEmits))
    return invalid_argument(fmt::format("cannot emit '{}'", shown(options.emit)),
                            fmt::format("one of {}", fmt::join(kEmits, ", ")));
  quantizing::Settings settings{.executor = executor_options(model, options.threads, options.max_memory),
                                .prepare = options.prepare,
                                .requantize = options.requantize,
                                .histograms = options.histograms,
                                .qoperator = options.emit == "qoperator",
                                .quark = options.emit == "quark" ? domain : std::string(),
                                .functions = options.emit == "portable" ? Mode::carried
                                             : options.emit == "packed" ? Mode::left_out
                                                                        : Mode::refused,
                                .target = {},
                                .gather = {}};
  settings.target =
      TRY(target_of(options.target == "generic" && !recipe.target.empty() ? recipe.target : options.target));
  settings.target.strict = options.strict;
  settings.gather.allow_nan = options.allow_nan;
  settings.gather.progress = options.progress;
  if (options.training || recipe.train)
    settings.training = TRY(train::merged(recipe.train.value_or(formats::Values()),
                                          options.training.value_or(TrainingOptions())));
  if (options.ranges) {
    TRY(options.ranges->check_belongs(model));
    settings.known = &RangesAccess::inner(*options.ranges).tensors;
  }
  return settings;
}

Result<Recipe> Recipe::preset(const std::string& name) noexcept {
  return guarded([&]() -> Result<Recipe> { return RecipeAccess::make(TRY(quantizing::find_recipe(name))); });
}

Result<Recipe> Recipe::from_text(const std::string& text, const std::string& name) noexcept {
  return guarded([&]() -> Result<Recipe> {
    auto recipe = quantizing::read_recipe(text, name);
    if (!recipe.ok()) return std::move(recipe).error().within(name);
    return RecipeAccess::make(std::move(recipe).value());
  });
}

Result<Recipe> Recipe::from_file(const std::string& path) noexcept {
  return guarded([&]() -> Result<Recipe> { return from_text(TRY(text_of_file(path)), path); });
}

Result<Recipe> Recipe::with(const std::string& kind, const std::string& pattern,
                            const std::string& scheme) const noexcept {
  return guarded([&]() -> Result<Recipe> {
    quantizing::Recipe recipe = content_->recipe;
    quantizing::Rule rule = TRY(quantizing::read_rule(kind, pattern, scheme));
    recipe.rules.push_back(std::move(rule));
    return RecipeAccess::make(std::move(recipe));
  });
}

Result<Recipe> Recipe::configured(const std::string& path) const noexcept {
  return guarded([&]() -> Result<Recipe> {
    auto file = quantizing::read_recipe(TRY(text_of_file(path)), path);
    if (!file.ok()) return std::move(file).error().within(path);
    auto merged = quantizing::configured(content_->recipe, *file);
    if (!merged.ok()) return std::move(merged).error().within(path);
    return RecipeAccess::make(std::move(merged).value());
  });
}

std::vector<RecipeInfo> recipe_presets() {
  std::vector<RecipeInfo> list;
  for (const quantizing::Preset& one : quantizing::presets())
    list.push_back({std::string(one.name), std::string(one.summary), std::string(one.text)});
  return list;
}

std::vector<RefinementInfo> refinement_list() {
  std::vector<RefinementInfo> list;
  for (const quantizing::Descriptor* one : quantizing::table()) {
    RefinementInfo& info = list.emplace_back();
    info.name = one->name;
    info.alias = one->alias;
    info.summary = one->summary;
    info.needs_samples = one->needs_samples;
    info.needs.assign(one->needs.begin(), one->needs.end());
    for (const formats::Parameter& parameter : one->parameters) {
      info.parameters.push_back({std::string(parameter.name),
                                 parameter.preset,
                                 std::string(parameter.doc),
                                 parameter.low,
                                 parameter.high,
                                 {parameter.choices.begin(), parameter.choices.end()}});
    }
  }
  return list;
}

std::vector<FormatParameter> training_option_list() {
  std::vector<FormatParameter> list;
  for (const formats::Parameter& one : train::option_list())
    list.push_back({std::string(one.name),
                    one.preset,
                    std::string(one.doc),
                    one.low,
                    one.high,
                    {one.choices.begin(), one.choices.end()}});
  return list;
}

Result<TrainingOptions> training_options(const ParameterValues& values) noexcept {
  return guarded([&] { return train::options_of(values); });
}

std::vector<TargetInfo> target_list() {
  std::vector<TargetInfo> list;
  for (const quantizing::Target& one : quantizing::targets())
    list.push_back({one.name, one.summary, std::string(one.preset)});
  return list;
}

Result<std::string> target_recipe(const std::string& target) noexcept {
  return guarded([&]() -> Result<std::string> { return std::string(TRY(target_of(target)).preset); });
}

bool is_operator(const std::string& name) noexcept { return quantizing::is_type(name); }

Result<Quantization> quantize(const Model& model, const Recipe& recipe, Samples* samples,
                              const QuantizeOptions& options) noexcept {
  return guarded([&]() -> Result<Quantization> {
    TRY(check_cpu_cap());
    const ReproducibleScope scope(options.reproducible || reproducible());
    quantizing::Settings settings = TRY(settings_of(model, RecipeAccess::of(recipe), options));
    const bool all_weights = lists_weights_as_inputs(model);
    std::optional<SampleStream> stream;
    std::optional<NamedData> first;
    calibrate::NextSample next;
    if (samples) {
      stream.emplace(*samples);
      if (all_weights) first = TRY(stream->next());
      next = [&]() -> Result<std::optional<NamedData>> {
        return first ? std::exchange(first, std::nullopt) : stream->next();
      };
      if (options.outputs)
        settings.gather.outputs = [&](std::int64_t number, const std::vector<ops::Datum>& outputs) {
          return ReferenceOutputsAccess::of(*options.outputs).keep(number, outputs);
        };
      settings.gather.sample_name = [&](std::int64_t number) { return stream->name(number); };
    }
    const Model constant = all_weights ? with_constant_defaults(model, names_of(first)) : model;
    const Model::Content& content = ModelAccess::content(constant);
    quantizing::Outcomes done =
        TRY(quantizing::quantize(content.model, RecipeAccess::of(recipe), next, settings));
    for (const auto& source : content.model.sources) TRY(source->intact());
    remark_constants(model, constant, done.report);
    remark_declarations(model, done.report);
    if (samples) std::ranges::move(samples->remarks(), std::back_inserter(done.report.remarks));
    return Quantization{ModelAccess::made(std::move(done.model), content.limits), std::move(done.report)};
  });
}

}  // namespace anybit
