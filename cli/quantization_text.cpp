#include "quantization_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "anybit/report.hpp"
#include "format_colors.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "verdict_text.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;
using Json = nlohmann::ordered_json;

std::string ratio(std::int64_t before, std::int64_t after) {
  return after > 0 ? fmt::format("{:.2f} ×", static_cast<double>(before) / static_cast<double>(after)) : "";
}

// Counts nodes by operator and outcome.
Table operators(const QuantizationReport& report) {
  std::map<std::string, std::map<std::string, std::int64_t>> counts;
  for (const auto& node : report.nodes) ++counts[node.op][node.outcome];
  Table table({{"operator"},
               {"quantized", Align::right},
               {"dynamic", Align::right},
               {"weights only", Align::right},
               {"pass-through", Align::right},
               {"fused", Align::right},
               {"float", Align::right}});
  const auto cell = [](const std::map<std::string, std::int64_t>& of, const char* outcome) {
    const auto found = of.find(outcome);
    return found == of.end() ? std::string() : std::to_string(found->second);
  };
  for (const auto& [op, of] : counts)
    table.add({op, cell(of, "quantized"), cell(of, "dynamic"), cell(of, "weights only"),
               cell(of, "pass-through"), cell(of, "fused"), cell(of, "float")});
  return table;
}

// The reasons why nodes stay in float, each once.
std::string left(const QuantizationReport& report) {
  std::map<std::string, std::map<std::string, std::int64_t>> reasons;
  for (const auto& node : report.nodes) {
    if (node.outcome == "float") ++reasons[node.reason][node.op];
  }
  std::string text;
  for (const auto& [reason, ops] : reasons) {
    std::string list;
    for (const auto& [op, count] : ops)
      list +=
          fmt::format("{}{}{}", list.empty() ? "" : ", ", op, count > 1 ? fmt::format(" ({})", count) : "");
    text += fmt::format("  {}: {}\n", reason, shortened(list, 100));
  }
  return text.empty() ? text : "\nLeft in float\n" + text;
}

Table nodes(const QuantizationReport& report) {
  Table table({{"node"}, {"operator"}, {"outcome"}, {"to"}, {"why"}});
  for (const auto& node : report.nodes)
    table.add({node.name, node.op, node.outcome, node.what, node.reason},
              {0, 0, 0, format_color(node.what, node.outcome == "weights only")});
  return table;
}

// The weights with the lowest SQNR.
Table weakest(const QuantizationReport& report) {
  std::vector<const QuantizationReport::Weight*> sorted;
  for (const auto& one : report.weights) sorted.push_back(&one);
  std::ranges::stable_sort(sorted, {}, [](const auto* one) { return one->sqnr; });
  Table table(
      {{"weight"}, {"to"}, {"SQNR dB", Align::right}, {"bytes", Align::right}, {"before", Align::right}});
  for (std::size_t i = 0; i < std::min<std::size_t>(5, sorted.size()); ++i) {
    const auto& one = *sorted[i];
    table.add({shortened(one.name, 40), one.spec, fmt::format("{:.1f}", one.sqnr),
               short_bytes(one.bytes_after), short_bytes(one.bytes_before)});
  }
  return table;
}

// Whether int8 layers are safe from saturation on CPUs without VNNI; empty without integer operators.
std::string without_vnni(const QuantizationReport& report) {
  const bool integers = std::ranges::any_of(report.nodes, [](const QuantizationReport::Node& one) {
    return one.outcome == "quantized" || one.outcome == "dynamic";
  });
  if (!integers) return {};
  const std::vector<std::string>& names = report.saturating;
  if (names.empty()) return "  x86-64    safe for ONNX Runtime on CPUs without VNNI: yes\n";
  return fmt::format(
      "  x86-64    safe for ONNX Runtime on CPUs without VNNI: no, sums of products with {}{} may saturate\n",
      printable(names[0]), names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

Json training_json(const TrainingReport& report) {
  const auto share = [](double value) { return value < 0 ? Json() : Json(value); };
  return {{"trained", report.trained},
          {"loss", report.loss},
          {"augment", report.augment},
          {"steps", report.steps},
          {"batch", report.batch},
          {"samples", report.samples},
          {"seconds", report.seconds},
          {"restarts", report.restarts},
          {"loss_before", report.loss_before},
          {"loss_after", report.loss_after},
          {"agreement_before", share(report.agreement_before)},
          {"agreement_after", share(report.agreement_after)}};
}

std::string training_text(const QuantizationReport& report) {
  if (!report.training) return {};
  const TrainingReport& done = *report.training;
  std::string text =
      fmt::format("  trained   {} steps of {} samples in {:.0f} s ({}): loss {:.4g} -> {:.4g}", done.steps,
                  done.batch, done.seconds, done.loss, done.loss_before, done.loss_after);
  if (done.agreement_after >= 0)
    text += fmt::format(", agreement with the float model {:.2f} -> {:.2f} %", 100 * done.agreement_before,
                        100 * done.agreement_after);
  return text + "\n";
}

}  // namespace

std::string quantization_text(const QuantizationReport& report, const std::string& output, bool verbose) {
  std::string text = fmt::format("{}  {}\n", styled(report.recipe, Style::bold), output);
  text += fmt::format("  weights   {} -> {}  ({} smaller)\n", short_bytes(report.weight_bytes_before),
                      short_bytes(report.weight_bytes_after),
                      ratio(report.weight_bytes_before, report.weight_bytes_after));
  if (report.opset_before != report.opset_after)
    text += fmt::format("  opset     {} -> {}\n", report.opset_before, report.opset_after);
  if (report.samples > 0) text += fmt::format("  samples   {}\n", report.samples);
  for (const QuantizationReport::Refinement& one : report.refinements) {
    const std::string name = one.parameters.empty() ? one.name : one.name + ":" + one.parameters;
    if (one.layers > 0) text += fmt::format("  refined   {}: {} layers\n", name, one.layers);
  }
  text += training_text(report);
  text += without_vnni(report);
  const std::string train =
      report.training ? fmt::format("{:.2f} s train, ", report.train_seconds) : std::string();
  text += fmt::format("  time      {:.2f} s prepare, {:.2f} s calibrate, {}{:.2f} s quantize\n",
                      report.prepare_seconds, report.calibrate_seconds, train, report.quantize_seconds);
  if (const Table table = operators(report); !table.empty()) text += "\n" + table.text();
  text += left(report);
  if (const Table table = weakest(report); !table.empty())
    text += "\nWeights with the lowest SQNR\n" + table.text();
  if (verbose) text += "\nAll nodes\n" + nodes(report).text();
  for (const std::string& remark : report.remarks) text += fmt::format("\n{}", printable(remark));
  return report.remarks.empty() ? text : text + "\n";
}

std::string quantization_json(const QuantizationReport& report, const Comparison* comparison,
                              const ComparedFiles& files, const SampleArguments& data, bool verdict_only) {
  Json json;
  if (comparison)
    json["verdict"] = verdict_json(
        comparison->verdict, {files.reference, files.other, data, report.recipe, report.gains_by_training});
  json["recipe"] = report.recipe;
  json["samples"] = report.samples;
  json["weight_bytes"] = {{"before", report.weight_bytes_before}, {"after", report.weight_bytes_after}};
  json["opset"] = {{"before", report.opset_before}, {"after", report.opset_after}};
  json["seconds"] = {{"prepare", report.prepare_seconds},
                     {"calibrate", report.calibrate_seconds},
                     {"quantize", report.quantize_seconds}};
  if (report.training) json["seconds"]["train"] = report.train_seconds;
  json["refinements"] = Json::array();
  std::int64_t bias_corrected = 0;
  for (const QuantizationReport::Refinement& one : report.refinements) {
    json["refinements"].push_back({{"name", one.name}, {"layers", one.layers}});
    if (!one.parameters.empty()) json["refinements"].back()["parameters"] = one.parameters;
    if (one.name == "bias-correction") bias_corrected += one.layers;
  }
  json["bias_corrected_layers"] = bias_corrected;
  if (report.training) json["training"] = training_json(*report.training);
  add_json_aliases(json);
  json["safe_without_vnni"] = report.saturating.empty();
  json["saturating"] = report.saturating;
  json["remarks"] = report.remarks;
  json["nodes"] = Json::array();
  for (const auto& one : report.nodes)
    json["nodes"].push_back({{"graph", one.graph},
                             {"name", one.name},
                             {"op", one.op},
                             {"outcome", one.outcome},
                             {"to", one.what},
                             {"reason", one.reason}});
  json["tensors"] = Json::array();
  for (const auto& one : report.tensors) {
    Json row = {{"name", one.name},         {"to", one.spec},
                {"low", one.low},           {"high", one.high},
                {"seen_low", one.seen_low}, {"seen_high", one.seen_high},
                {"scale", one.scale},       {"zero_point", one.zero_point},
                {"fixed", one.fixed},       {"samples", one.samples}};
    if (one.saturated >= 0) row["saturated"] = one.saturated;
    json["tensors"].push_back(std::move(row));
  }
  json["weights"] = Json::array();
  for (const auto& one : report.weights) {
    Json row = {{"name", one.name},
                {"to", one.spec},
                {"bytes_before", one.bytes_before},
                {"bytes_after", one.bytes_after},
                {"sqnr_db", one.sqnr},
                {"raised_channels", one.scales_raised},
                {"rounded_for_sums", one.rounded_for_sums}};
    add_json_aliases(row);
    json["weights"].push_back(std::move(row));
  }
  if (comparison && !verdict_only)
    json["comparison"] = Json::parse(comparison_json(*comparison, files, data));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
