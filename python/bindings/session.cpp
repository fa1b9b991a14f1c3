// Execution of models.
#include "anybit/executor.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "anybit/samples.hpp"
#include "arrays.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

// A tuple of sizes, names of symbolic dimensions, or None; None for a tensor of unknown rank.
nb::object shape_of(const Port& port) {
  if (!port.has_rank) return nb::none();
  nb::list dims;
  for (std::size_t i = 0; i < port.dims.size(); ++i) {
    if (port.dims[i] >= 0) {
      dims.append(port.dims[i]);
    } else if (i >= port.symbols.size() || port.symbols[i].empty()) {
      dims.append(nb::none());
    } else {
      dims.append(port.symbols[i]);
    }
  }
  return nb::tuple(dims);
}

nb::list run(const Executor& executor, const nb::dict& inputs, nb::object profile) {
  const std::map<std::string, Value> values = to_values(inputs);
  RunProfile times;
  const bool timed = !profile.is_none();
  const auto outputs = take(released([&] { return executor.run(values, timed ? &times : nullptr); }));
  nb::list results = to_python(outputs, values);
  if (timed) {
    for (const RunProfile::Entry& one : times.entries)
      profile.attr("append")(
          nb::make_tuple(one.name, one.op, one.start, one.nanoseconds, one.macs, one.depth));
  }
  return results;
}

// Copies, so that the caller owns the result.
nb::object variable(const Executor& executor, const std::string& name) {
  Value value = take(released([&] { return executor.variable(name); }));
  const auto copy =
      std::make_shared<const std::vector<std::byte>>(value.tensor.bytes.begin(), value.tensor.bytes.end());
  value.tensor.bytes = *copy;
  value.tensor.owner = copy;
  return nb::object(to_python({value}, {})[0]);
}

void set_variables(Executor& executor, const nb::dict& given) {
  const std::map<std::string, Value> values = to_values(given);
  take(released([&] { return executor.set_variables(values); }));
}

}  // namespace

void add_session(nb::module_& module) {
  nb::class_<Port>(module, "Port", "An input or output of a model.")
      .def_ro("name", &Port::name)
      .def_ro("type", &Port::type)
      .def_ro("element_type", &Port::element_type)
      .def_prop_ro("shape", shape_of,
                   nb::for_getter(nb::sig("def shape(self, /) -> tuple[int | str | None, ...] | None")))
      .def_ro("required", &Port::required)
      .def("__repr__", [](const Port& one) { return shown(one.name + ": " + one.type); });
  nb::class_<Executor>(module, "Executor")
      .def_prop_ro("inputs", &Executor::inputs)
      .def_prop_ro("outputs", &Executor::outputs)
      .def("run", run, nb::arg("inputs"), nb::arg("profile").none())
      .def_prop_ro("variables", &Executor::variables)
      .def("variable", variable, nb::arg("name"))
      .def("set_variables", set_variables, nb::arg("values"))
      .def("model", [](const Executor& executor) { return take(released([&] { return executor.model(); })); })
      .def_prop_ro("peak_memory", &Executor::peak_memory)
      .def_prop_ro("used_memory", &Executor::used_memory)
      .def_prop_ro("steps", [](const Executor& executor) { return take(executor.steps()); });
  module.def(
      "make_executor",
      [](const Model& model, int threads, std::int64_t max_memory, bool fuse,
         std::vector<std::string> variables, const std::map<std::string, std::string>& updates) {
        ExecutorOptions options{threads, max_memory, fuse, std::move(variables), {}};
        for (const auto& [variable, output] : updates) options.updates.push_back({variable, output});
        return take(released([&] { return Executor::make(model, options); }));
      },
      nb::arg("model"), nb::arg("threads"), nb::arg("max_memory"), nb::arg("fuse"), nb::arg("variables"),
      nb::arg("updates"));
  module.def("inputs_of", [](const Model& model) { return take(inputs_of(model)); });
}

}  // namespace anybit::python
