// Generators for tests: fused-gen and written-gen write a model's views as JSON.
// Compiled once for each, with DUMP_NAME and DUMP_VIEW.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "anybit/codegen.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json dump(const anybit_graph& graph);

Json dump(const anybit_value& value) {
  Json json{{"name", value.name}, {"type", value.type}};
  json["dims"] = value.rank < 0 ? Json() : Json(std::vector<int64_t>(value.dims, value.dims + value.rank));
  if (value.data) {
    json["bytes"] = value.bytes;
    // Small constants, to be compared; the address identifies shared ones.
    const auto* data = static_cast<const unsigned char*>(value.data);
    if (value.bytes <= 64) json["data"] = std::vector<int>(data, data + value.bytes);
    json["at"] = reinterpret_cast<uintptr_t>(value.data);
  }
  if (!value.scales) return json;
  json["scales"] = std::vector<float>(value.scales, value.scales + value.scale_count);
  json["axis"] = value.axis;
  if (value.zero_points)
    json["zero_points"] = std::vector<int>(value.zero_points, value.zero_points + value.scale_count);
  return json;
}

Json dump(const anybit_attribute& one) {
  switch (one.kind) {
    case ANYBIT_ATTRIBUTE_INT:
      return one.ints[0];
    case ANYBIT_ATTRIBUTE_FLOAT:
      return one.floats[0];
    case ANYBIT_ATTRIBUTE_TEXT:
      return one.texts[0];
    case ANYBIT_ATTRIBUTE_INTS:
      return std::vector<int64_t>(one.ints, one.ints + one.count);
    case ANYBIT_ATTRIBUTE_FLOATS:
      return std::vector<float>(one.floats, one.floats + one.count);
    case ANYBIT_ATTRIBUTE_TEXTS:
      return std::vector<std::string>(one.texts, one.texts + one.count);
    case ANYBIT_ATTRIBUTE_TENSOR:
      return dump(*one.tensor);
    case ANYBIT_ATTRIBUTE_GRAPH:
      return dump(*one.graph);
    case ANYBIT_ATTRIBUTE_OTHER:
      break;
  }
  return {};
}

Json dump(const anybit_node& node) {
  Json attributes = Json::object();
  for (size_t i = 0; i < node.attribute_count; ++i)
    attributes[node.attributes[i].name] = dump(node.attributes[i]);
  return {{"name", node.name},
          {"op", node.op},
          {"domain", node.domain},
          {"version", node.version},
          {"inputs", std::vector<int>(node.inputs, node.inputs + node.input_count)},
          {"outputs", std::vector<int>(node.outputs, node.outputs + node.output_count)},
          {"attributes", attributes}};
}

Json dump(const anybit_graph& graph) {
  Json json{{"inputs", std::vector<int>(graph.inputs, graph.inputs + graph.input_count)},
            {"outputs", std::vector<int>(graph.outputs, graph.outputs + graph.output_count)},
            {"values", Json::array()},
            {"nodes", Json::array()},
            {"captures", Json::array()}};
  for (size_t i = 0; i < graph.value_count; ++i) json["values"].push_back(dump(graph.values[i]));
  for (size_t i = 0; i < graph.node_count; ++i) json["nodes"].push_back(dump(graph.nodes[i]));
  for (size_t i = 0; i < graph.capture_count; ++i)
    json["captures"].push_back({graph.capture_outer[i], graph.capture_inner[i]});
  return json;
}

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error) {
  Json json{{"path", view->path},         {"name", view->name},
            {"hash", view->hash},         {"preference", static_cast<int>(options->preference)},
            {"settings", Json::object()}, {"graph", dump(*view->graph)}};
  for (size_t i = 0; i < options->setting_count; ++i)
    json["settings"][options->setting_names[i]] = options->setting_texts[i];
  const std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace);
  FILE* file = std::fopen(path, "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) == 0 && written) return 0;
  const char* why = std::strerror(errno);
  error->write(error->target, why, std::strlen(why));
  return 1;
}

const anybit_codegen_plugin plugin = {
    .abi = ANYBIT_CODEGEN_ABI,
    .name = DUMP_NAME,
    .extension = ".json",
    .summary = "the view of a model, as JSON",
    .view = DUMP_VIEW,
    .generate = generate,
    .load = nullptr,
    .run = nullptr,
    .unload = nullptr,
    .backend = nullptr,
};

}  // namespace

const anybit_codegen_plugin* anybit_codegen_entry(void) { return &plugin; }
