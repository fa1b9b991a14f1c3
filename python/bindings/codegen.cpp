// Code generation.
#include "anybit/codegen.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

anybit_preference preference_named(const std::string& name) {
  if (name == "default") return ANYBIT_PREFER_DEFAULT;
  if (name == "performance") return ANYBIT_PREFER_PERFORMANCE;
  if (name == "memory") return ANYBIT_PREFER_MEMORY;
  if (name == "compile-time") return ANYBIT_PREFER_COMPILE_TIME;
  raise(
      {Code::invalid_argument, "prefer='" + name + "'", {}, "default, performance, memory or compile-time"});
}

std::string generated(const Model& model, const std::string& name, const std::string& path,
                      const std::string& prefer, const std::map<std::string, std::string>& settings,
                      const std::map<std::string, std::vector<std::int64_t>>& shapes,
                      const nb::dict& constants, const std::vector<std::string>& folders) {
  CodegenOptions options{preference_named(prefer), settings, shapes, {}, folders};
  for (auto& [name, value] : to_values(constants)) options.constants.emplace(name, value.tensor);
  return take(released([&] { return generate_code(model, name, path, options); }));
}

}  // namespace

void add_codegen(nb::module_& module) {
  nb::class_<GeneratorInfo>(module, "Generator", "An available code generator.")
      .def_ro("name", &GeneratorInfo::name)
      .def_ro("extension", &GeneratorInfo::extension)
      .def_ro("summary", &GeneratorInfo::summary)
      .def_ro("library", &GeneratorInfo::library)
      .def_ro("backend", &GeneratorInfo::backend)
      .def_ro("backend_name", &GeneratorInfo::backend_name)
      .def("__repr__", [](const GeneratorInfo& one) { return shown(one.name + ": " + one.summary); });
  module.def("codegen", generated, nb::arg("model"), nb::arg("name"), nb::arg("path"), nb::arg("prefer"),
             nb::arg("settings"), nb::arg("shapes"), nb::arg("constants"), nb::arg("folders"));
  module.def("generators", [](const std::vector<std::string>& folders) {
    return released([&] { return list_generators(folders); });
  });
}

}  // namespace anybit::python
