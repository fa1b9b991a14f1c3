// Sensitivity of the outputs to each layer, and sweeps over recipes.
#include "anybit/sensitivity.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "anybit/sweep.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"
#include "work.hpp"

namespace anybit::python {
namespace {

std::optional<Samples> opened(Work& work, const Model& model) {
  auto samples = work.samples(take(inputs_of(model)));
  if (!samples)
    raise({Code::invalid_argument, "there are no samples", {}, "an iterable of arrays, or paths"});
  return samples;
}

Sensitivity measured(const Model& model, const Recipe& recipe, const Source& source, nb::object progress,
                     const std::string& target, std::int64_t layers, std::int64_t measure, int threads,
                     std::int64_t max_memory, std::int64_t max_kept, bool allow_nan) {
  Work work(source, std::move(progress));
  auto samples = opened(work, model);
  SensitivityOptions options;
  options.target = target;
  options.layers = layers;
  options.samples = measure;
  options.threads = threads;
  options.max_memory = max_memory;
  options.max_kept = max_kept;
  options.allow_nan = allow_nan;
  options.progress = work.progress_of_total();
  options.stop = work.stop();
  return work.run<Sensitivity>([&] { return sensitivity(model, recipe, *samples, options); });
}

Sweep swept(const Model& model, const std::vector<std::pair<std::string, Recipe>>& recipes,
            const Source& source, const std::string& target, const std::string& emit, int threads,
            std::int64_t max_memory, bool speed, bool allow_nan, std::vector<std::int64_t> labels,
            const std::string& metric_name, nb::object metric) {
  Work work(source, nb::none());
  auto samples = opened(work, model);
  std::vector<SweepRecipe> named;
  for (const auto& [name, recipe] : recipes) named.push_back({name, recipe});
  SweepOptions options;
  options.quantize.target = target;
  options.quantize.emit = emit;
  options.quantize.threads = threads;
  options.quantize.max_memory = max_memory;
  options.quantize.allow_nan = allow_nan;
  options.speed = speed;
  options.labels = std::move(labels);
  options.spare_labels = source.options.limit > 0;
  if (!metric.is_none())
    options.metric = Metric{metric_name, [&](const Model& one) {
                              return work.ask([&] { return nb::cast<double>(metric(one)); });
                            }};
  const OpenSamples open = [&]() -> Result<Samples> {
    if (auto first = samples->rewind(); !first.ok())
      return Error{Code::invalid_argument,
                   "a sweep reads the samples several times",
                   {},
                   "an array, a dict of arrays, or paths"};
    return *samples;
  };
  return work.run<Sweep>([&] { return sweep(model, named, open, options); });
}

}  // namespace

void add_sensitivity(nb::module_& module) {
  nb::class_<Effect>(module, "Effect",
                     "The effect of quantization on the part of the outputs that suffers most.")
      .def_ro("harm", &Effect::harm, "Noise relative to signal, in units of what \"ok\" permits.")
      .def_prop_ro("level", [](const Effect& one) { return to_string(one.level); })
      .def_ro("sqnr", &Effect::sqnr)
      .def_ro("reason", &Effect::reason)
      .def("__repr__", [](const Effect& one) { return shown(to_string(one.level) + ": " + one.reason); });
  nb::class_<LayerSensitivity>(module, "LayerSensitivity", "How much one layer costs at the outputs.")
      .def_ro("node", &LayerSensitivity::node)
      .def_ro("op", &LayerSensitivity::op)
      .def_ro("what", &LayerSensitivity::what)
      .def_ro("estimate", &LayerSensitivity::estimate)
      .def_ro("measured", &LayerSensitivity::measured)
      .def_ro("harm", &LayerSensitivity::harm)
      .def_ro("alone", &LayerSensitivity::alone, "Only this layer is quantized.")
      .def_ro("left", &LayerSensitivity::left, "Everything else is quantized.")
      .def("__repr__", [](const LayerSensitivity& one) {
        return shown(one.node + " (" + one.op + "): harm " + std::to_string(one.harm));
      });
  nb::class_<Sensitivity>(module, "SensitivityFacts")
      .def_ro("recipe", &Sensitivity::recipe)
      .def_ro("all", &Sensitivity::all)
      .def_ro("plain", &Sensitivity::plain)
      .def_ro("refinements_harm", &Sensitivity::refinements_harm)
      .def_ro("layers", &Sensitivity::layers)
      .def_ro("exclude", &Sensitivity::exclude)
      .def_ro("excluded", &Sensitivity::excluded)
      .def_ro("samples", &Sensitivity::samples)
      .def_ro("runs", &Sensitivity::runs)
      .def_ro("seconds", &Sensitivity::seconds)
      .def_ro("remarks", &Sensitivity::remarks)
      .def("json", [](const Sensitivity& one) { return to_json(one); });
  nb::class_<SweepRow>(module, "SweepRow", "What one recipe makes of a model.")
      .def_ro("recipe", &SweepRow::recipe)
      .def_ro("failed", &SweepRow::failed, "Why there is no model; empty: there is one.")
      .def_ro("bytes", &SweepRow::bytes)
      .def_prop_ro("verdict", [](const SweepRow& one) { return one.comparison.verdict; })
      .def_ro("sqnr", &SweepRow::sqnr, "Of the part of the outputs that the verdict puts last, in dB.")
      .def_prop_ro("top1",
                   [](const SweepRow& one) -> std::optional<double> {
                     const Comparison& facts = one.comparison;
                     if (facts.labelled == 0) return std::nullopt;
                     return static_cast<double>(facts.other_top1) / static_cast<double>(facts.labelled);
                   })
      .def_ro("speed", &SweepRow::speed,
              "Time of the float model divided by that of this one; 0: not measured.")
      .def_ro("milliseconds", &SweepRow::milliseconds)
      .def_ro("metric", &SweepRow::metric, "The value of the caller's own measure; None without one.")
      .def("__repr__", [](const SweepRow& one) {
        return shown(one.recipe + ": " +
                     (one.failed.empty() ? to_string(one.comparison.verdict.level) : one.failed));
      });
  nb::class_<Sweep>(module, "SweepFacts")
      .def_ro("bytes", &Sweep::bytes)
      .def_ro("milliseconds", &Sweep::milliseconds)
      .def_ro("metric", &Sweep::metric)
      .def_ro("rows", &Sweep::rows)
      .def("json", [](const Sweep& one) { return to_json(one); });
  module.def("sensitivity", measured, nb::arg("model"), nb::arg("recipe"), nb::arg("source"),
             nb::arg("progress").none(), nb::arg("target"), nb::arg("layers"), nb::arg("measure"),
             nb::arg("threads"), nb::arg("max_memory"), nb::arg("max_kept"), nb::arg("allow_nan"));
  module.def("sweep", swept, nb::arg("model"), nb::arg("recipes"), nb::arg("source"), nb::arg("target"),
             nb::arg("emit"), nb::arg("threads"), nb::arg("max_memory"), nb::arg("speed"),
             nb::arg("allow_nan"), nb::arg("labels"), nb::arg("metric_name"), nb::arg("metric").none());
}

}  // namespace anybit::python
