// Models, preparation, opset conversion.
#include "anybit/model.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "anybit/calibrate.hpp"
#include "anybit/convert_opset.hpp"
#include "anybit/modules.hpp"
#include "anybit/prepare.hpp"
#include "arrays.hpp"
#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

SaveOptions::External external_named(const std::string& name) {
  if (name == "keep") return SaveOptions::External::keep;
  if (name == "always") return SaveOptions::External::always;
  if (name == "never") return SaveOptions::External::never;
  raise({Code::invalid_argument, "external_data='" + name + "'", {}, "keep, always or never"});
}

Model load(const std::string& path, bool linked_data) {
  LoadOptions options;
  options.allow_linked_data = linked_data;
  return take_of_file(released([&] { return Model::load(path, options); }), path);
}

Model from_bytes(nb::handle bytes) {
  const Array borrowed = borrow("uint8", {}, bytes);
  const std::string_view view = borrowed.text();
  return take(released([&] { return Model::from_bytes(view); }));
}

void save(const Model& model, const std::string& path, const std::string& external_data,
          std::int64_t threshold) {
  const SaveOptions options{external_named(external_data), threshold};
  take_of_file(released([&] { return model.save(path, options); }), path);
}

nb::bytes to_bytes(const Model& model) {
  const std::string bytes = take(released([&] { return model.to_bytes(); }));
  return nb::bytes(bytes.data(), bytes.size());
}

nb::tuple prepared(const Model& model, const std::optional<std::vector<std::string>>& passes,
                   const std::vector<std::string>& keep) {
  auto done = take(released([&] { return prepare(model, {passes, keep}); }));
  nb::list changes;
  for (const PassChanges& one : done.passes)
    changes.append(nb::make_tuple(one.name, one.summary, one.changes));
  return nb::make_tuple(std::move(done.model), changes);
}

Model raised(const Model& model, std::optional<std::int64_t> opset) {
  return take(released([&] { return convert_opset(model, opset); })).model;
}

Model modules_noted(const Model& model, const std::map<std::string, std::string>& classes) {
  return take(released([&] { return with_modules(model, classes); }));
}

}  // namespace

void add_model(nb::module_& module) {
  nb::class_<Model>(module, "Model")
      .def("save", save, nb::arg("path"), nb::arg("external_data"), nb::arg("threshold"))
      .def("to_bytes", to_bytes)
      .def("content_hash",
           [](const Model& model) { return take(released([&] { return content_hash(model); })); });
  module.def("load", load, nb::arg("path"), nb::arg("linked_data"));
  module.def("from_bytes", from_bytes, nb::arg("bytes"));
  module.def("prepare", prepared, nb::arg("model"), nb::arg("passes").none(), nb::arg("keep"));
  module.def("convert_opset", raised, nb::arg("model"), nb::arg("opset").none());
  module.def("with_modules", modules_noted, nb::arg("model"), nb::arg("classes"));
}

}  // namespace anybit::python
