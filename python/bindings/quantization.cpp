// Recipes, targets and quantization.
#include "anybit/quantize.hpp"

#include <nanobind/stl/vector.h>

#include "anybit/calibrate.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"
#include "work.hpp"

namespace anybit::python {
namespace {

// Options by name, and labels, checkpoint, resume.
TrainingOptions training_of(const nb::dict& given) {
  ParameterValues values;
  TrainingOptions others;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "labels") {
      others.labels = nb::cast<std::vector<std::int64_t>>(value);
    } else if (name == "checkpoint") {
      others.checkpoint = nb::cast<std::string>(value);
    } else if (name == "resume") {
      others.resume = nb::cast<bool>(value);
    } else if (nb::isinstance<nb::bool_>(value)) {
      values[name] = nb::cast<bool>(value);
    } else if (nb::isinstance<nb::int_>(value)) {
      values[name] = nb::cast<std::int64_t>(value);
    } else if (nb::isinstance<nb::float_>(value)) {
      values[name] = nb::cast<double>(value);
    } else {
      values[name] = nb::cast<std::string>(nb::str(value));
    }
  }
  TrainingOptions options = take(training_options(values));
  options.labels = std::move(others.labels);
  options.checkpoint = std::move(others.checkpoint);
  options.resume = others.resume;
  return options;
}

nb::dict fields_of(const TrainingStep& step) {
  nb::dict fields;
  fields["step"] = step.step;
  fields["steps"] = step.steps;
  fields["loss"] = step.loss;
  fields["agreement"] = step.agreement < 0 ? nb::none() : nb::cast(step.agreement);
  fields["rate"] = step.rate;
  fields["seconds_left"] = step.seconds_left;
  return fields;
}

// A step is shown by the calling thread; the caller's function may end training with False.
std::function<bool(const TrainingStep&)> step_shower(Work& work, const nb::object& on_step) {
  if (on_step.is_none()) return [stop = work.stop()](const TrainingStep&) { return !stop(); };
  return [&work, &on_step](const TrainingStep& step) {
    const auto answer = work.ask([&] {
      const nb::object said = on_step(fields_of(step));
      return said.is(nb::borrow(Py_False)) ? 0.0 : 1.0;
    });
    return answer.ok() && *answer != 0;
  };
}

nb::object shown_training(const QuantizationReport& report) {
  if (!report.training) return nb::none();
  const TrainingReport& from = *report.training;
  nb::dict fields;
  fields["trained"] = from.trained;
  fields["loss"] = from.loss;
  fields["steps"] = from.steps;
  fields["batch"] = from.batch;
  fields["samples"] = from.samples;
  fields["parameters"] = from.parameters;
  fields["seconds"] = from.seconds;
  fields["loss_before"] = from.loss_before;
  fields["loss_after"] = from.loss_after;
  fields["agreement_before"] = from.agreement_before < 0 ? nb::none() : nb::cast(from.agreement_before);
  fields["agreement_after"] = from.agreement_after < 0 ? nb::none() : nb::cast(from.agreement_after);
  fields["restarts"] = from.restarts;
  fields["averaged"] = from.averaged;
  fields["augment"] = from.augment;
  nb::list curve;
  for (const TrainingReport::Point& one : from.curve)
    curve.append(nb::make_tuple(one.step, one.loss, one.agreement));
  fields["curve"] = curve;
  return fields;
}

nb::tuple quantized(const Model& model, const Recipe& recipe, const Source& source, const Ranges* ranges,
                    nb::object progress, const std::string& target, const std::string& emit,
                    const std::string& domain, int threads, std::int64_t max_memory, bool prepare,
                    bool requantize, bool allow_nan, bool reproducible, bool histograms, bool strict,
                    const nb::object& training, const nb::object& on_step) {
  Work work(source, std::move(progress));
  auto samples = work.samples(take(inputs_of(model)));
  QuantizeOptions options;
  options.target = target;
  options.emit = emit;
  options.domain = domain;
  options.threads = threads;
  options.max_memory = max_memory;
  options.prepare = prepare;
  options.requantize = requantize;
  options.allow_nan = allow_nan;
  options.reproducible = reproducible;
  options.histograms = histograms;
  options.strict = strict;
  options.ranges = ranges;
  options.progress = work.progress();
  if (!training.is_none()) {
    options.training = training_of(nb::cast<nb::dict>(training));
    options.training->on_step = step_shower(work, on_step);
  }
  auto done =
      work.run<Quantization>([&] { return quantize(model, recipe, samples ? &*samples : nullptr, options); });
  return nb::make_tuple(std::move(done.model), std::move(done.report));
}

nb::list presets() {
  nb::list all;
  for (const RecipeInfo& one : recipe_presets()) all.append(nb::make_tuple(one.name, one.summary, one.text));
  return all;
}

nb::list targets() {
  nb::list all;
  for (const TargetInfo& one : target_list()) all.append(nb::make_tuple(one.name, one.summary, one.recipe));
  return all;
}

nb::list refinements() {
  nb::list all;
  for (const RefinementInfo& one : refinement_list())
    all.append(
        nb::make_tuple(one.name, one.alias, one.summary, one.needs_samples, one.needs, one.parameters));
  return all;
}

std::int64_t bias_corrected_layers(const QuantizationReport& report) {
  std::int64_t layers = 0;
  for (const QuantizationReport::Refinement& one : report.refinements)
    layers += one.name == "bias-correction" ? one.layers : 0;
  return layers;
}

void add_report(nb::module_& module) {
  using Report = QuantizationReport;
  nb::class_<Report> report(module, "QuantizationReport");
  nb::class_<Report::Node>(report, "Node")
      .def_ro("graph", &Report::Node::graph)
      .def_ro("name", &Report::Node::name)
      .def_ro("op", &Report::Node::op)
      .def_ro("outcome", &Report::Node::outcome)
      .def_ro("what", &Report::Node::what)
      .def_ro("reason", &Report::Node::reason)
      .def("__repr__",
           [](const Report::Node& one) { return shown(one.op + " '" + one.name + "': " + one.outcome); });
  nb::class_<Report::Tensor>(report, "Tensor")
      .def_ro("name", &Report::Tensor::name)
      .def_ro("spec", &Report::Tensor::spec)
      .def_ro("low", &Report::Tensor::low)
      .def_ro("high", &Report::Tensor::high)
      .def_ro("seen_low", &Report::Tensor::seen_low)
      .def_ro("seen_high", &Report::Tensor::seen_high)
      .def_ro("scale", &Report::Tensor::scale)
      .def_ro("zero_point", &Report::Tensor::zero_point)
      .def_ro("fixed", &Report::Tensor::fixed)
      .def_ro("saturated", &Report::Tensor::saturated)
      .def_ro("samples", &Report::Tensor::samples)
      .def("__repr__", [](const Report::Tensor& one) { return shown(one.name + ": " + one.spec); });
  nb::class_<Report::Weight>(report, "Weight")
      .def_ro("name", &Report::Weight::name)
      .def_ro("spec", &Report::Weight::spec)
      .def_ro("bytes_before", &Report::Weight::bytes_before)
      .def_ro("bytes_after", &Report::Weight::bytes_after)
      .def_ro("sqnr", &Report::Weight::sqnr)
      .def_ro("scales_raised", &Report::Weight::scales_raised)
      .def_ro("rounded_for_sums", &Report::Weight::rounded_for_sums)
      .def_ro("signal_to_noise", &Report::Weight::sqnr, "Alias of sqnr.")
      .def_ro("raised", &Report::Weight::scales_raised, "Alias of scales_raised.")
      .def_ro("moved", &Report::Weight::rounded_for_sums, "Alias of rounded_for_sums.")
      .def("__repr__", [](const Report::Weight& one) { return shown(one.name + ": " + one.spec); });
  report.def_ro("recipe", &Report::recipe)
      .def_ro("nodes", &Report::nodes)
      .def_ro("tensors", &Report::tensors)
      .def_ro("weights", &Report::weights)
      .def_ro("remarks", &Report::remarks)
      .def_ro("saturating", &Report::saturating)
      .def_ro("samples", &Report::samples)
      .def_ro("weight_bytes_before", &Report::weight_bytes_before)
      .def_ro("weight_bytes_after", &Report::weight_bytes_after)
      .def_ro("opset_before", &Report::opset_before)
      .def_ro("opset_after", &Report::opset_after)
      .def_prop_ro("refinements",
                   [](const Report& report) {
                     nb::dict layers;
                     for (const Report::Refinement& one : report.refinements) {
                       const std::string name =
                           one.parameters.empty() ? one.name : one.name + ":" + one.parameters;
                       layers[name.c_str()] = one.layers;
                     }
                     return layers;
                   })
      .def_prop_ro("training", shown_training)
      .def_prop_ro("bias_corrected_layers", bias_corrected_layers)
      .def_prop_ro("means_kept", bias_corrected_layers, "Alias of bias_corrected_layers.")
      .def_ro("prepare_seconds", &Report::prepare_seconds)
      .def_ro("calibrate_seconds", &Report::calibrate_seconds)
      .def_ro("train_seconds", &Report::train_seconds)
      .def_ro("quantize_seconds", &Report::quantize_seconds);
}

}  // namespace

void add_quantization(nb::module_& module) {
  add_report(module);
  nb::class_<Recipe>(module, "Recipe")
      .def("with_rule", [](const Recipe& recipe, const std::string& kind, const std::string& pattern,
                           const std::string& scheme) { return take(recipe.with(kind, pattern, scheme)); });
  module.def("recipe_preset", [](const std::string& name) { return take(Recipe::preset(name)); });
  module.def("recipe_from_text", [](const std::string& text, const std::string& name) {
    return take(Recipe::from_text(text, name));
  });
  module.def("recipe_from_file",
             [](const std::string& path) { return take_of_file(Recipe::from_file(path), path); });
  module.def("presets", presets);
  module.def("targets", targets);
  module.def("refinements", refinements);
  module.def("target_recipe", [](const std::string& target) { return take(target_recipe(target)); });
  module.def("is_operator", is_operator);
  module.def("quantize", quantized, nb::arg("model"), nb::arg("recipe"), nb::arg("source"),
             nb::arg("ranges").none(), nb::arg("progress").none(), nb::arg("target"), nb::arg("emit"),
             nb::arg("domain"), nb::arg("threads"), nb::arg("max_memory"), nb::arg("prepare"),
             nb::arg("requantize"), nb::arg("allow_nan"), nb::arg("reproducible"), nb::arg("histograms"),
             nb::arg("strict"), nb::arg("training").none(), nb::arg("on_step").none());
}

}  // namespace anybit::python
