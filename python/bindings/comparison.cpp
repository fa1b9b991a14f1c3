// Compares two models on the same samples.
#include "anybit/compare.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"
#include "work.hpp"

namespace anybit::python {
namespace {

Comparison compared(const Model& reference, const Model& other, const Source& source, nb::object progress,
                    int threads, std::int64_t max_memory, bool layers, std::vector<std::int64_t> labels) {
  Work work(source, std::move(progress));
  auto samples = work.samples(take(inputs_of(reference)));
  if (!samples)
    raise({Code::invalid_argument, "there are no samples", {}, "an iterable of arrays, or paths"});
  CompareOptions options;
  options.threads = threads;
  options.max_memory = max_memory;
  options.layers = layers;
  options.labels = std::move(labels);
  options.spare_labels = source.options.limit > 0;
  options.progress = work.progress();
  return work.run<Comparison>([&] { return compare(reference, other, *samples, options); });
}

}  // namespace

void add_comparison(nb::module_& module) {
  nb::class_<Difference>(module, "Difference", "The difference of one tensor from the reference.")
      .def_ro("name", &Difference::name)
      .def_ro("op", &Difference::op)
      .def_ro("node", &Difference::node, "Name of the node that produces it; empty for model outputs.")
      .def_ro(
          "quantized", &Difference::quantized,
          "The node computes on quantized values; float and pass-through nodes forward the error of others.")
      .def_ro("count", &Difference::count)
      .def_ro("sqnr", &Difference::sqnr)
      .def_ro("signal_to_noise", &Difference::sqnr, "Alias of sqnr.")
      .def_ro("cosine", &Difference::cosine)
      .def_ro("largest_error", &Difference::largest_error)
      .def_ro("largest_value", &Difference::largest_value)
      .def("__repr__",
           [](const Difference& one) { return shown(one.name + ": " + std::to_string(one.sqnr) + " dB"); });
  nb::class_<OutputPart>(module, "OutputPart", "Channels of an output with one scale and one kind of values.")
      .def_ro("output", &OutputPart::output)
      .def_ro("kind", &OutputPart::kind, "\"classes\", \"probabilities\" or \"values\".")
      .def_ro("axis", &OutputPart::axis, "Axis of the channels or classes; -1: none.")
      .def_ro("first", &OutputPart::first, "The first channel.")
      .def_ro("last", &OutputPart::last, "The last channel; below `first`: the part is the whole output.")
      .def_ro("count", &OutputPart::count)
      .def_ro("sqnr", &OutputPart::sqnr)
      .def_ro("cosine", &OutputPart::cosine)
      .def_ro("rows", &OutputPart::rows, "Rows of classes.")
      .def_ro("agreed", &OutputPart::agreed, "Rows where both models choose the same class.")
      .def_ro("divergence", &OutputPart::divergence,
              "Of the probabilities of classes: Jensen-Shannon, nats per row.")
      .def_ro("threshold", &OutputPart::threshold, "Of decisions on probabilities.")
      .def_ro("before", &OutputPart::before, "Values above it in the reference.")
      .def_ro("after", &OutputPart::after, "Values above it in the other model.")
      .def_ro("both", &OutputPart::both, "Values above it in both.");
  nb::class_<PartVerdict>(module, "PartVerdict", "The verdict on a part of an output.")
      .def_ro("part", &PartVerdict::part)
      .def_prop_ro("level", [](const PartVerdict& one) { return to_string(one.level); })
      .def_ro("reason", &PartVerdict::reason)
      .def("__repr__",
           [](const PartVerdict& one) { return shown(to_string(one.level) + ": " + one.reason); });
  nb::class_<Verdict>(module, "Verdict",
                      "Is a model as good as its reference, which part is not, and what to try.")
      .def_prop_ro(
          "level", [](const Verdict& one) { return to_string(one.level); },
          "\"ok\", \"degraded\", \"broken\" or \"unknown\".")
      .def_ro("reason", &Verdict::reason)
      .def_ro("recipe", &Verdict::recipe,
              "The preset to try next; empty if the model is ok, or if none is wider.")
      .def_ro("parts", &Verdict::parts, "The verdicts on parts of outputs, worst first.")
      .def("__repr__", [](const Verdict& one) {
        return shown(to_string(one.level) + ": " + one.reason +
                     (one.recipe.empty() ? "" : "; try the recipe \"" + one.recipe + "\""));
      });
  nb::class_<Comparison>(module, "Comparison")
      .def_ro("samples", &Comparison::samples)
      .def_ro("verdict", &Comparison::verdict)
      .def_ro("outputs", &Comparison::outputs)
      .def_ro("layers", &Comparison::layers)
      .def_ro("remarks", &Comparison::remarks)
      .def_ro("rows", &Comparison::rows)
      .def_ro("agreed", &Comparison::agreed)
      .def_ro("labelled", &Comparison::labelled)
      .def_ro("reference_top1", &Comparison::reference_top1)
      .def_ro("reference_top5", &Comparison::reference_top5)
      .def_ro("other_top1", &Comparison::other_top1)
      .def_ro("other_top5", &Comparison::other_top5);
  module.def(
      "judged_by",
      [](const std::optional<Verdict>& guessed, const std::string& measure, double before, double after,
         const Model& other) {
        return take(judged_by(guessed.value_or(Verdict()), measure, before, after, other));
      },
      nb::arg("verdict").none(), nb::arg("measure"), nb::arg("before"), nb::arg("after"), nb::arg("other"));
  module.def("compare", compared, nb::arg("reference"), nb::arg("other"), nb::arg("source"),
             nb::arg("progress").none(), nb::arg("threads"), nb::arg("max_memory"), nb::arg("layers"),
             nb::arg("labels"));
}

}  // namespace anybit::python
