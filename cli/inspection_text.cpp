#include "inspection_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "format_colors.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;

constexpr std::size_t kLargestNodes = 5;
constexpr std::size_t kProblems = 10;
constexpr std::size_t kSubgraphs = 12;
constexpr std::size_t kLongText = 60;

std::string section(std::string_view title, std::string_view remark, const std::string& body) {
  if (body.empty()) return "";
  const std::string note = remark.empty() ? "" : styled(fmt::format("  {}", remark), Style::dim);
  return fmt::format("\n{}{}\n{}", styled(title, Style::bold), note, body);
}

std::string plural(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", long_count(count), one, count == 1 ? "" : "s");
}

std::string operator_name(const std::string& domain, const std::string& name) {
  return domain == "ai.onnx" ? name : domain + "." + name;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string head(const Inspection& i) {
  Table table({{""}, {""}});
  const std::string outside = [&] {
    std::int64_t bytes = 0;
    for (const auto& file : i.data_files) bytes += file.bytes;
    return bytes == 0 ? "" : fmt::format(" + {} external data", short_bytes(bytes));
  }();
  table.add({"File", short_bytes(i.file_bytes) + outside});
  std::vector<std::string> opsets;
  for (const auto& one : i.opsets) {
    opsets.push_back(one.domain == "ai.onnx" ? fmt::format("opset {}", one.version)
                                             : fmt::format("{} {}", one.domain, one.version));
  }
  table.add({"Format", fmt::format("ONNX, IR {}, {}", i.ir_version, joined(opsets, ", "))});
  if (!i.producer.empty())
    table.add({"Producer", shortened(i.producer + " " + i.producer_version, kLongText)});
  if (!i.graph_name.empty()) table.add({"Graph", shortened(i.graph_name, kLongText)});
  if (!i.doc.empty()) table.add({"About", shortened(printable(i.doc), kLongText)});
  table.add({"Nodes", fmt::format("{}", long_count(i.node_count))});
  table.add({"Parameters",
             fmt::format("{}, {}", short_count(i.parameter_elements), short_bytes(i.parameter_bytes))});
  std::string macs = i.unknown_macs > 0 && i.macs == 0 ? "unknown" : short_count(i.macs);
  if (i.unknown_macs > 0 && i.macs > 0) macs = "at least " + macs;
  table.add({"MACs", macs + (i.unknown_macs > 0 && i.macs == 0 ? "" : " (multiply-accumulates of one run)")});
  return table.text();
}

std::string values(const std::vector<Inspection::Value>& list) {
  Table table({{""}, {""}});
  for (const auto& value : list) table.add({value.name, value.type});
  return table.text();
}

std::string parameters(const Inspection& i) {
  Table table({{"type"},
               {"tensors", Align::right},
               {"elements", Align::right},
               {"bytes", Align::right},
               {"share", Align::right}});
  for (const auto& row : i.parameters) {
    table.add({row.type, long_count(row.tensors), long_count(row.elements), short_bytes(row.bytes),
               share(row.bytes, i.parameter_bytes)});
  }
  return table.text();
}

std::string operators(const Inspection& i) {
  Table table({{"operator"},
               {"nodes", Align::right},
               {"parameters", Align::right},
               {"MACs", Align::right},
               {"share", Align::right},
               {""}});
  for (const auto& row : i.operators) {
    const bool multiplies = row.macs > 0 || row.unknown_macs > 0;
    std::string note = row.known ? "" : "unknown to anybit";
    if (row.unknown_macs > 0) note = fmt::format("{} of unknown size", row.unknown_macs);
    table.add({operator_name(row.domain, row.name), long_count(row.nodes),
               row.parameters > 0 ? short_count(row.parameters) : "",
               multiplies ? (row.macs > 0 ? short_count(row.macs) : "?") : "", share(row.macs, i.macs),
               note});
  }
  return table.text();
}

std::string node_label(const Inspection::Node& node) {
  if (!node.name.empty()) return node.name;
  return node.outputs.empty() ? "" : "→ " + node.outputs[0].name;
}

std::string node_table(const Inspection& i, const std::vector<const Inspection::Node*>& nodes) {
  Table table({{"node"},
               {"operator"},
               {"output"},
               {"parameters", Align::right},
               {"MACs", Align::right},
               {"share", Align::right},
               {"runs", Align::right},
               {"in"}});
  for (const Inspection::Node* node : nodes) {
    const bool once = node->runs == 1;
    const std::int64_t macs = node->macs.value_or(0);
    table.add({shortened(printable(node_label(*node)), kLongText), operator_name(node->domain, node->op),
               node->outputs.empty() ? "" : node->outputs[0].type,
               node->parameters > 0 ? short_count(node->parameters) : "",
               !node->multiplies ? ""
               : node->macs      ? short_count(macs)
                                 : "?",
               once ? share(macs, i.macs) : "",
               once         ? ""
               : node->runs ? long_count(*node->runs)
                            : "?",
               shortened(printable(node->graph), kLongText)});
  }
  return table.text();
}

std::string largest_nodes(const Inspection& i) {
  std::vector<const Inspection::Node*> list;
  for (const auto& node : i.nodes) {
    if (node.macs.value_or(0) > 0 && node.runs != 0) list.push_back(&node);
  }
  const auto work = [](const Inspection::Node* node) {
    return static_cast<double>(*node->macs) * static_cast<double>(node->runs.value_or(1));
  };
  std::stable_sort(list.begin(), list.end(), [&](const auto* a, const auto* b) { return work(a) > work(b); });
  if (list.size() > kLargestNodes) list.resize(kLargestNodes);
  return list.empty() ? "" : node_table(i, list);
}

std::string all_nodes(const Inspection& i) {
  std::vector<const Inspection::Node*> list;
  for (const auto& node : i.nodes) list.push_back(&node);
  return node_table(i, list);
}

std::string quantization(const Inspection& i) {
  Table table({{"role"},
               {"type"},
               {"tensors", Align::right},
               {"elements", Align::right},
               {"one scale per"},
               {"zero point"},
               {"scale"},
               {"operator"}});
  for (const auto& row : i.quantized) {
    const std::string grain = row.block > 0 ? fmt::format("block of {}", row.block) : row.granularity;
    table.add({row.role, row.type, long_count(row.tensors), row.elements > 0 ? short_count(row.elements) : "",
               grain, row.symmetry, row.scale, row.by},
              {0, format_color(row.type)});
  }
  return table.text();
}

std::string quantization_remark(const Inspection& i) {
  std::int64_t weights = 0, elements = 0, activations = 0;
  for (const auto& row : i.quantized) {
    if (row.role == "weight") weights += row.tensors, elements += row.elements;
    if (row.role == "activation") activations += row.tensors;
  }
  const std::string part = share(elements, std::max(i.parameter_elements, elements));
  return fmt::format("{}{}, {}", plural(weights, "weight"),
                     part.empty() ? "" : fmt::format(" ({} of all parameters)", part),
                     plural(activations, "activation"));
}

std::string structure(const Inspection& i) {
  Table table({{""}, {"nodes", Align::right}, {"calls", Align::right}});
  const std::size_t shown = std::min(i.subgraphs.size(), kSubgraphs);
  for (std::size_t k = 0; k < shown; ++k) {
    const auto& one = i.subgraphs[k];
    table.add(
        {std::string(2 * static_cast<std::size_t>(std::max<std::int64_t>(one.depth - 1, 0)), ' ') + one.place,
         long_count(one.nodes)});
  }
  if (shown < i.subgraphs.size()) table.add({fmt::format("… and {} more", i.subgraphs.size() - shown)});
  for (const auto& one : i.functions) {
    table.add(
        {"function " + operator_name(one.domain, one.name) + (one.overload.empty() ? "" : ":" + one.overload),
         long_count(one.nodes), long_count(one.calls)});
  }
  for (const auto& one : i.training) {
    table.add({fmt::format("training information, {}", plural(one.bindings, "binding")),
               long_count(one.initialization_nodes + one.algorithm_nodes)});
  }
  return table.text();
}

std::string data_files(const Inspection& i) {
  Table table({{"file"}, {"tensors", Align::right}, {"bytes", Align::right}});
  for (const auto& one : i.data_files)
    table.add({one.location, long_count(one.tensors), short_bytes(one.bytes)});
  return table.text();
}

std::string metadata(const Inspection& i) {
  Table table({{""}, {""}});
  for (const auto& one : i.metadata) table.add({one.key, shortened(printable(one.value), kLongText)});
  return table.text();
}

std::string problems(const Inspection& i) {
  std::string text;
  for (std::size_t k = 0; k < std::min(i.problems.size(), kProblems); ++k) {
    text += fmt::format("  {}\n", printable(i.problems[k].place + ": " + i.problems[k].message));
    if (!i.problems[k].hint.empty()) text += fmt::format("    hint: {}\n", printable(i.problems[k].hint));
  }
  if (i.problems.size() > kProblems) text += fmt::format("  … and {} more\n", i.problems.size() - kProblems);
  return text;
}

// Options to copy: every input with unknown dimensions, with likely sizes for them.
std::string shape_hint(const Inspection& i) {
  std::string options;
  for (const auto& input : i.inputs) {
    if (!input.shape) continue;
    std::vector<std::string> sizes;
    bool open = false;
    for (const auto& dim : *input.shape) {
      open = open || !dim.size;
      const bool batch = sizes.empty();
      const bool image = input.shape->size() == 4;
      sizes.push_back(std::to_string(dim.size.value_or(batch ? 1 : image ? 224 : 128)));
    }
    if (open) options += fmt::format(" --input-shape '{}={}'", printable(input.name), joined(sizes, ","));
  }
  return options.empty() ? "" : "give the shapes of the inputs, for example" + options;
}

std::string unknown_note(const Inspection& i) {
  std::string text;
  if (i.unknown_macs > 0) {
    text += fmt::format(
        "\n{}\n", styled(fmt::format("The MACs of {} are unknown: they depend on the shapes of the inputs.",
                                     plural(i.unknown_macs, "node")),
                         Style::yellow));
    if (const std::string hint = shape_hint(i); !hint.empty()) text += "  hint: " + hint + "\n";
  }
  if (i.unknown_loops > 0) {
    text += fmt::format("\n{} in loops whose length depends on the data: counted once.\n",
                        plural(i.unknown_loops, "node"));
  }
  return text;
}

}  // namespace

std::string to_text(const Inspection& i, bool nodes) {
  std::string text = styled(printable(i.path), Style::bold) + "\n" + head(i);
  text += section("Inputs", "", values(i.inputs));
  text += section("Outputs", "", values(i.outputs));
  text += section("Parameters", "", parameters(i));
  text += section("Operators", "", operators(i));
  if (!nodes) text += section("Largest nodes", "--nodes shows all", largest_nodes(i));
  if (!i.quantized.empty()) text += section("Quantized", quantization_remark(i), quantization(i));
  text += section("Subgraphs and functions", "", structure(i));
  text += section("External data", "", data_files(i));
  text += section("Metadata", "", metadata(i));
  if (nodes) text += section("Nodes", "", all_nodes(i));
  text +=
      section("Problems", "shapes that do not fit, wrong declarations, unsupported versions", problems(i));
  return text + unknown_note(i);
}

}  // namespace anybit::cli
