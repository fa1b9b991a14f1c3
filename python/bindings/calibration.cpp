// Calibration and ranges.
#include "anybit/calibrate.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"
#include "work.hpp"

namespace anybit::python {
namespace {

Source source_of(nb::object from, std::int64_t limit, std::vector<float> mean, std::vector<float> std,
                 std::vector<std::int64_t> size, std::string layout, std::string resize, std::string channels,
                 float scale) {
  return {std::move(from),
          {limit, std::move(mean), std::move(std), std::move(size), std::move(layout), std::move(resize),
           std::move(channels), scale}};
}

Ranges calibrated(const Model& model, const Source& source, nb::object progress, int threads,
                  std::int64_t max_memory, bool bins, double momentum, bool allow_nan, bool reproducible,
                  std::vector<std::string> collect) {
  Work work(source, std::move(progress));
  auto samples = work.samples(take(inputs_of(model)));
  if (!samples)
    raise({Code::invalid_argument, "there are no samples", {}, "an iterable of arrays, or paths"});
  CalibrateOptions options;
  options.threads = threads;
  options.max_memory = max_memory;
  options.bins = bins;
  options.momentum = momentum;
  options.allow_nan = allow_nan;
  options.reproducible = reproducible;
  options.collect = std::move(collect);
  options.progress = work.progress();
  return work.run<Ranges>([&] { return calibrate_model(model, *samples, options); });
}

nb::tuple range_of(const Ranges& ranges, const std::string& tensor, const std::string& observer, int levels,
                   bool symmetric, double percentile) {
  const auto range = take(ranges.range(tensor, {observer, levels, symmetric, percentile}));
  return nb::make_tuple(range.low, range.high);
}

// A float64 array that Python owns.
nb::object collected_of(const Ranges& ranges, const std::string& tensor, const std::string& collector,
                        const std::string& view) {
  auto found = std::make_unique<Ranges::Collected>(
      take(released([&] { return ranges.collected(tensor, collector, view); })));
  const std::vector<std::size_t> dims(found->dims.begin(), found->dims.end());
  double* const values = found->values.data();
  const nb::capsule owner(found.release(),
                          [](void* held) noexcept { delete static_cast<Ranges::Collected*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, double>(values, dims.size(), dims.data(), owner));
}

nb::list all_collected(const Ranges& ranges) {
  nb::list all;
  for (const Ranges::Collected& one : take(ranges.collected()))
    all.append(nb::make_tuple(one.tensor, one.collector, one.view));
  return all;
}

}  // namespace

void add_calibration(nb::module_& module) {
  nb::class_<Source>(module, "Source");
  module.def("source", source_of, nb::arg("from_").none(), nb::arg("limit"), nb::arg("mean"), nb::arg("std"),
             nb::arg("size"), nb::arg("layout"), nb::arg("resize"), nb::arg("channels"), nb::arg("scale"));
  nb::class_<Ranges::Tensor>(module, "TensorRange", "The statistics of one tensor.")
      .def_ro("name", &Ranges::Tensor::name)
      .def_ro("samples", &Ranges::Tensor::samples)
      .def_ro("count", &Ranges::Tensor::count)
      .def_ro("zeros", &Ranges::Tensor::zeros)
      .def_ro("nans", &Ranges::Tensor::nans)
      .def_ro("infinities", &Ranges::Tensor::infinities)
      .def_ro("min", &Ranges::Tensor::min)
      .def_ro("max", &Ranges::Tensor::max)
      .def_ro("average_min", &Ranges::Tensor::average_min)
      .def_ro("average_max", &Ranges::Tensor::average_max)
      .def_ro("has_bins", &Ranges::Tensor::has_bins)
      .def("__repr__", [](const Ranges::Tensor& one) {
        return shown(one.name + ": " + std::to_string(one.min) + " to " + std::to_string(one.max));
      });
  nb::class_<Ranges>(module, "Ranges")
      .def("save",
           [](const Ranges& ranges, const std::string& path) {
             take_of_file(released([&] { return ranges.save(path); }), path);
           })
      .def("merged", [](const Ranges& ranges, const Ranges& other) { return take(ranges.merged(other)); })
      .def("check_belongs",
           [](const Ranges& ranges, const Model& model) {
             take(released([&] { return ranges.check_belongs(model); }));
           })
      .def_prop_ro("samples", &Ranges::samples)
      .def_prop_ro("model_hash", &Ranges::model_hash)
      .def_prop_ro("tensors", &Ranges::tensors)
      .def("collected", collected_of, nb::arg("tensor"), nb::arg("collector"), nb::arg("view"))
      .def("all_collected", all_collected)
      .def("range", range_of, nb::arg("tensor"), nb::arg("observer"), nb::arg("levels"), nb::arg("symmetric"),
           nb::arg("percentile"));
  module.def("load_ranges", [](const std::string& path) {
    return take_of_file(released([&] { return Ranges::load(path); }), path);
  });
  module.def("calibrate", calibrated, nb::arg("model"), nb::arg("source"), nb::arg("progress").none(),
             nb::arg("threads"), nb::arg("max_memory"), nb::arg("bins"), nb::arg("momentum"),
             nb::arg("allow_nan"), nb::arg("reproducible"), nb::arg("collect"));
  module.def("collectors", [] {
    nb::dict all;
    for (const CollectorInfo& one : collectors()) all[one.name.c_str()] = one.summary;
    return all;
  });
  module.def("observers", [] {
    nb::dict all;
    for (const Observer& one : observers()) all[one.name.c_str()] = one.summary;
    return all;
  });
}

}  // namespace anybit::python
