#include <nlohmann/json.hpp>

#include "inspection_text.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json port_json(const Inspection::Value& value) {
  Json shape;
  if (value.shape) {
    shape = Json::array();
    for (const Inspection::Dimension& dim : *value.shape) {
      shape.push_back(dim.size ? Json(*dim.size) : dim.symbol.empty() ? Json() : Json(dim.symbol));
    }
  }
  return {{"name", value.name}, {"type", value.type}, {"element_type", value.element_type}, {"shape", shape}};
}

template <class List, class Convert>
Json list_json(const List& list, Convert convert) {
  Json result = Json::array();
  for (const auto& one : list) result.push_back(convert(one));
  return result;
}

Json node_json(const Inspection::Node& node) {
  return {{"name", node.name},
          {"op", node.op},
          {"domain", node.domain},
          {"graph", node.graph},
          {"inputs", node.inputs},
          {"outputs", list_json(node.outputs, port_json)},
          {"multiplies", node.multiplies},
          {"macs", maybe(node.macs)},
          {"runs", maybe(node.runs)},
          {"parameters", node.parameters}};
}

Json operator_json(const Inspection::Operator& one) {
  return {{"name", one.name},
          {"domain", one.domain},
          {"nodes", one.nodes},
          {"parameters", one.parameters},
          {"parameter_bytes", one.parameter_bytes},
          {"macs", one.macs},
          {"unknown_macs", one.unknown_macs},
          {"known", one.known}};
}

Json quantized_json(const Inspection::Quantized& one) {
  return {{"role", one.role},   {"type", one.type},         {"granularity", one.granularity},
          {"block", one.block}, {"symmetry", one.symmetry}, {"scale", one.scale},
          {"by", one.by},       {"tensors", one.tensors},   {"elements", one.elements}};
}

Json error_json(const Error& error) {
  return {{"code", name_of(error.code)},
          {"message", error.message},
          {"place", error.place},
          {"hint", error.hint}};
}

}  // namespace

std::string to_json(const Inspection& i) {
  Json json{{"path", i.path},
            {"file_bytes", i.file_bytes},
            {"ir_version", i.ir_version},
            {"model_version", maybe(i.model_version)},
            {"producer", i.producer},
            {"producer_version", i.producer_version},
            {"domain", i.domain},
            {"graph_name", i.graph_name},
            {"doc", i.doc}};
  json["opsets"] = list_json(i.opsets, [](const auto& o) {
    return Json{{"domain", o.domain}, {"version", o.version}};
  });
  json["metadata"] = list_json(i.metadata, [](const auto& m) {
    return Json{{"key", m.key}, {"value", m.value}};
  });
  json["inputs"] = list_json(i.inputs, port_json);
  json["outputs"] = list_json(i.outputs, port_json);
  json["parameters"] = {{"elements", i.parameter_elements}, {"bytes", i.parameter_bytes}};
  json["parameters"]["types"] = list_json(i.parameters, [](const auto& p) {
    return Json{{"type", p.type}, {"tensors", p.tensors}, {"elements", p.elements}, {"bytes", p.bytes}};
  });
  json["macs"] = {{"total", i.macs},
                  {"unknown_nodes", i.unknown_macs},
                  {"unknown_loop_nodes", i.unknown_loops},
                  {"unknown_shape_nodes", i.unknown_shapes}};
  json["node_count"] = i.node_count;
  json["operators"] = list_json(i.operators, operator_json);
  json["quantized"] = list_json(i.quantized, quantized_json);
  json["subgraphs"] = list_json(i.subgraphs, [](const auto& s) {
    return Json{{"place", s.place}, {"depth", s.depth}, {"nodes", s.nodes}};
  });
  json["functions"] = list_json(i.functions, [](const auto& f) {
    return Json{{"name", f.name},
                {"domain", f.domain},
                {"overload", f.overload},
                {"nodes", f.nodes},
                {"calls", f.calls}};
  });
  json["data_files"] = list_json(i.data_files, [](const auto& d) {
    return Json{{"location", d.location}, {"tensors", d.tensors}, {"bytes", d.bytes}};
  });
  json["training"] = list_json(i.training, [](const auto& t) {
    return Json{{"initialization_nodes", t.initialization_nodes},
                {"algorithm_nodes", t.algorithm_nodes},
                {"bindings", t.bindings}};
  });
  json["problems"] = list_json(i.problems, error_json);
  json["nodes"] = list_json(i.nodes, node_json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
