#include "entries.hpp"

#include <fmt/format.h>

#include <vector>

#include "../c-gen/failure.hpp"

namespace anybit::sogen {
namespace {

using Ports = std::vector<const anybit_value*>;

Ports ports(const anybit_graph& graph, const int32_t* numbers, size_t count) {
  Ports list;
  for (size_t i = 0; i < count; ++i) list.push_back(&graph.values[numbers[i]]);
  return list;
}

// Any bytes as a string in C: what could mean something there, or is no letter of ASCII, is its number.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char one : text) {
    const auto byte = static_cast<unsigned char>(one);
    const bool plain = byte >= ' ' && byte < 0x7f && one != '"' && one != '\\' && one != '?';
    result += plain ? std::string(1, one) : fmt::format("\\{:03o}", byte);
  }
  return result + '"';
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char one : text) {
    const auto byte = static_cast<unsigned char>(one);
    if (one == '"' || one == '\\') {
      result += fmt::format("\\{}", one);
    } else {
      result += byte < ' ' ? fmt::format("\\u{:04x}", byte) : std::string(1, one);
    }
  }
  return result + '"';
}

std::string dims_of(const anybit_value& value) {
  return fmt::format("{}", fmt::join(value.dims, value.dims + value.rank, ", "));
}

std::string json_of(const Ports& list) {
  std::string text;
  for (const anybit_value* one : list)
    text += fmt::format("{}{{\"name\": {}, \"type\": {}, \"dims\": [{}]}}", text.empty() ? "" : ", ",
                        json_text(one->name), json_text(one->type), dims_of(*one));
  return "[" + text + "]";
}

// Arrays in C have at least one element.
std::string port_table(std::string_view table, const Ports& list) {
  std::string text, rows;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string dims = list[i]->rank > 0 ? dims_of(*list[i]) : "0";
    text += fmt::format("static const int64_t {}_dims{}[] = {{{}}};\n", table, i, dims);
    rows += fmt::format("  {{{}, {}, {}, {}_dims{}}},\n", quoted(list[i]->name), quoted(list[i]->type),
                        list[i]->rank, table, i);
  }
  return text + fmt::format("static const struct port {}[] = {{\n{}  {{0, 0, 0, 0}}}};\n", table, rows);
}

std::string arguments(std::string_view array, size_t count, bool first) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{}{}[{}]", first && i == 0 ? "" : ", ", array, i);
  return text;
}

}  // namespace

std::string entries_of(const anybit_graph& graph, const std::string& name) {
  const Ports inputs = ports(graph, graph.inputs, graph.input_count);
  const Ports outputs = ports(graph, graph.outputs, graph.output_count);
  std::string text = fmt::format(
      "/* Made by anybit's so-gen: the entries of a library. */\n"
      "#include <stddef.h>\n#include <stdint.h>\n\n#include \"{}.h\"\n\n"
      "#define EXPORT __attribute__((visibility(\"default\")))\n\n"
      "struct port {{\n  const char *name, *type;\n  int32_t rank;\n  const int64_t *dims;\n}};\n\n",
      name);
  text += port_table("inputs_of", inputs) + port_table("outputs_of", outputs);
  text += fmt::format(
      "\nEXPORT int main_graph_port(int output, size_t index, const char **name, const char **type,\n"
      "                           int32_t *rank, const int64_t **dims) {{\n"
      "  const struct port *port = output ? outputs_of : inputs_of;\n"
      "  if (index >= (output ? (size_t){} : (size_t){})) return -1;\n"
      "  *name = port[index].name;\n  *type = port[index].type;\n"
      "  *rank = port[index].rank;\n  *dims = port[index].dims;\n  return 0;\n}}\n\n",
      outputs.size(), inputs.size());
  text += fmt::format(
      "EXPORT const char *main_graph_signature(void) {{\n  return {};\n}}\n\n",
      quoted(fmt::format("{{\"inputs\": {}, \"outputs\": {}}}", json_of(inputs), json_of(outputs))));
  const std::string call = fmt::format("{}_run({}{})", name, arguments("inputs", inputs.size(), true),
                                       arguments("outputs", outputs.size(), inputs.empty()));
  text += fmt::format(
      "EXPORT int run_main_graph(const void *const *inputs, void *const *outputs) {{\n"
      "  (void)inputs;\n  (void)outputs;\n  {};\n}}\n",
      cgen::failures(graph).empty() ? call + ";\n  return 0" : "return " + call);
  return text;
}

}  // namespace anybit::sogen
