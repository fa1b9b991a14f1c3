// Model inspection (anybit/inspect.hpp), as classes with attributes.
#include "anybit/inspect.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "errors.hpp"
#include "parts.hpp"
#include "text.hpp"

namespace anybit::python {
namespace {

// A tuple of sizes, names of symbolic dimensions, or None; None for a tensor of unknown rank.
nb::object shape_of(const Inspection::Value& value) {
  if (!value.shape) return nb::none();
  nb::list dims;
  for (const Inspection::Dimension& one : *value.shape) {
    if (one.size) {
      dims.append(*one.size);
    } else if (one.symbol.empty()) {
      dims.append(nb::none());
    } else {
      dims.append(one.symbol);
    }
  }
  return nb::tuple(dims);
}

nb::dict opsets_of(const Inspection& inspection) {
  nb::dict opsets;
  for (const Inspection::Opset& one : inspection.opsets) opsets[nb::cast(one.domain)] = one.version;
  return opsets;
}

nb::dict metadata_of(const Inspection& inspection) {
  nb::dict entries;
  for (const Inspection::Entry& one : inspection.metadata) entries[nb::cast(one.key)] = one.value;
  return entries;
}

nb::str summary_of(const Inspection& one) {
  return shown("Inspection of " + one.graph_name + ": " + std::to_string(one.node_count) + " nodes, " +
               std::to_string(one.parameter_elements) + " parameters (" +
               std::to_string(one.parameter_bytes) + " bytes), " + std::to_string(one.macs) + " MACs, " +
               std::to_string(one.inputs.size()) + " inputs, " + std::to_string(one.outputs.size()) +
               " outputs");
}

}  // namespace

void add_inspection(nb::module_& module) {
  nb::class_<Inspection> inspection(
      module, "Inspection", "Description of a model: inputs, outputs, parameters, multiply-accumulates.");
  nb::class_<Inspection::Value>(inspection, "Value", "An input or output.")
      .def_ro("name", &Inspection::Value::name)
      .def_ro("type", &Inspection::Value::type)
      .def_ro("element_type", &Inspection::Value::element_type)
      .def_prop_ro("shape", shape_of,
                   nb::for_getter(nb::sig("def shape(self, /) -> tuple[int | str | None, ...] | None")))
      .def("__repr__", [](const Inspection::Value& one) { return shown(one.name + ": " + one.type); });
  nb::class_<Inspection::Parameters>(inspection, "Parameters", "The parameters of one type.")
      .def_ro("type", &Inspection::Parameters::type)
      .def_ro("tensors", &Inspection::Parameters::tensors)
      .def_ro("elements", &Inspection::Parameters::elements)
      .def_ro("bytes", &Inspection::Parameters::bytes)
      .def("__repr__", [](const Inspection::Parameters& one) {
        return shown(one.type + ": " + std::to_string(one.tensors) + " tensors, " +
                     std::to_string(one.elements) + " elements");
      });
  nb::class_<Inspection::Operator>(inspection, "Operator", "The nodes of one operator.")
      .def_ro("domain", &Inspection::Operator::domain)
      .def_ro("name", &Inspection::Operator::name)
      .def_ro("nodes", &Inspection::Operator::nodes)
      .def_ro("parameters", &Inspection::Operator::parameters)
      .def_ro("parameter_bytes", &Inspection::Operator::parameter_bytes)
      .def_ro("macs", &Inspection::Operator::macs)
      .def_ro("known", &Inspection::Operator::known)
      .def("__repr__", [](const Inspection::Operator& one) {
        return shown(one.name + ": " + std::to_string(one.nodes) + " nodes, " +
                     std::to_string(one.parameters) + " parameters");
      });
  nb::class_<Inspection::Node>(inspection, "Node",
                               "A node; graph is the path of its subgraph, if it is in one.")
      .def_ro("name", &Inspection::Node::name)
      .def_ro("domain", &Inspection::Node::domain)
      .def_ro("op", &Inspection::Node::op)
      .def_ro("graph", &Inspection::Node::graph)
      .def_ro("inputs", &Inspection::Node::inputs)
      .def_ro("outputs", &Inspection::Node::outputs)
      .def_ro("macs", &Inspection::Node::macs)
      .def_ro("parameters", &Inspection::Node::parameters)
      .def("__repr__", [](const Inspection::Node& one) { return shown(one.op + " '" + one.name + "'"); });
  nb::class_<Inspection::Quantized>(inspection, "Quantized", "Tensors that are quantized in the same way.")
      .def_ro("role", &Inspection::Quantized::role)
      .def_ro("type", &Inspection::Quantized::type)
      .def_ro("granularity", &Inspection::Quantized::granularity)
      .def_ro("block", &Inspection::Quantized::block)
      .def_ro("symmetry", &Inspection::Quantized::symmetry)
      .def_ro("scale", &Inspection::Quantized::scale)
      .def_ro("by", &Inspection::Quantized::by)
      .def_ro("tensors", &Inspection::Quantized::tensors)
      .def_ro("elements", &Inspection::Quantized::elements)
      .def("__repr__", [](const Inspection::Quantized& one) {
        return shown(one.role + " " + one.type + " " + one.granularity + ": " + std::to_string(one.tensors) +
                     " tensors, " + std::to_string(one.elements) + " elements");
      });
  inspection.def_ro("path", &Inspection::path)
      .def_ro("file_bytes", &Inspection::file_bytes)
      .def_ro("ir_version", &Inspection::ir_version)
      .def_ro("model_version", &Inspection::model_version)
      .def_ro("producer", &Inspection::producer)
      .def_ro("producer_version", &Inspection::producer_version)
      .def_ro("graph_name", &Inspection::graph_name)
      .def_ro("doc", &Inspection::doc)
      .def_prop_ro("opsets", opsets_of)
      .def_prop_ro("metadata", metadata_of)
      .def_ro("inputs", &Inspection::inputs)
      .def_ro("outputs", &Inspection::outputs)
      .def_ro("parameters", &Inspection::parameters)
      .def_ro("parameter_elements", &Inspection::parameter_elements)
      .def_ro("parameter_bytes", &Inspection::parameter_bytes)
      .def_ro("node_count", &Inspection::node_count)
      .def_ro("macs", &Inspection::macs)
      .def_ro("unknown_macs", &Inspection::unknown_macs)
      .def_ro("operators", &Inspection::operators)
      .def_ro("nodes", &Inspection::nodes)
      .def_ro("quantized", &Inspection::quantized)
      .def("__repr__", summary_of)
      .def_prop_ro("problems", [](const Inspection& one) {
        std::vector<std::string> texts;
        for (const Error& problem : one.problems) texts.push_back(problem.text());
        return texts;
      });
  module.def(
      "inspect",
      [](const Model& model, const std::map<std::string, std::vector<std::int64_t>>& input_shapes,
         const std::map<std::string, std::int64_t>& dims) {
        return take(released([&] { return inspect(model, {input_shapes, dims}); }));
      },
      nb::arg("model"), nb::arg("input_shapes"), nb::arg("dims"));
}

}  // namespace anybit::python
