#include "comparison_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "anybit/report.hpp"
#include "error_scale.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "verdict_text.hpp"

namespace anybit::cli {
namespace {

using Align = Table::Align;
using Json = nlohmann::ordered_json;

std::string decibels(double value) { return value >= 200 ? "same" : fmt::format("{:.1f}", value); }

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

// Nodes are named, as `--exclude` takes them; model outputs have their own names.
Table differences(const std::vector<Difference>& all, std::int64_t rows) {
  Table table({{all.empty() || all[0].node.empty() ? "value" : "node"},
               {"operator"},
               {"SQNR dB", Align::right},
               {"cosine", Align::right},
               {"largest error", Align::right},
               {"largest value", Align::right}});
  for (const Difference& one : all) {
    if (rows-- <= 0) break;
    if (one.count == 0) {  // no floats, or no sample that could be compared
      table.add({shortened_name(one.name), one.op, "-", "-", "-", "-"});
      continue;
    }
    table.add({shortened_name(one.node.empty() ? one.name : one.node), one.op, decibels(one.sqnr),
               fmt::format("{:.5f}", one.cosine), fmt::format("{:.4g}", one.largest_error),
               fmt::format("{:.4g}", one.largest_value)},
              {0, 0, error_color(one.sqnr)});
  }
  return table;
}

std::string accuracy(const Comparison& comparison, const ComparedFiles& files) {
  Table table({{""}, {"size", Align::right}, {"top-1", Align::right}, {"top-5", Align::right}});
  const auto cell = [&](std::int64_t right) {
    return comparison.labelled > 0 ? fmt::format("{:.2f} %", percent(right, comparison.labelled))
                                   : std::string();
  };
  table.add({files.reference, short_bytes(files.reference_bytes), cell(comparison.reference_top1),
             cell(comparison.reference_top5)});
  table.add({files.other, short_bytes(files.other_bytes), cell(comparison.other_top1),
             cell(comparison.other_top5)});
  return table.text();
}

Json json_of(const Difference& one) {
  Json json = {{"name", one.name},
               {"op", one.op},
               {"node", one.node},
               {"quantized", one.quantized},
               {"count", one.count},
               {"skipped_samples", one.skipped},
               {"sqnr_db", one.sqnr},
               {"cosine", one.cosine},
               {"largest_error", one.largest_error},
               {"largest_value", one.largest_value}};
  add_json_aliases(json);
  return json;
}

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

ComparedFiles compared_files(const std::string& reference, const std::string& other) {
  return {reference, other, size_of(reference), size_of(other)};
}

std::string comparison_text(const Comparison& comparison, const ComparedFiles& files, std::int64_t rows) {
  std::string text = accuracy(comparison, files);
  text += fmt::format("\n{} samples", long_count(comparison.samples));
  if (comparison.rows > 0)
    text += fmt::format("; same top-1 class in {:.2f} %", percent(comparison.agreed, comparison.rows));
  text += "\n\nOutputs\n" + differences(comparison.outputs, INT64_MAX).text();
  for (const std::string& remark : comparison.remarks) text += printable(remark) + "\n";
  if (comparison.layers.empty() || rows <= 0) return text;
  std::vector<Difference> sorted = comparison.layers;
  // Float and pass-through nodes only forward the error of others.
  if (std::ranges::any_of(sorted, &Difference::quantized))
    std::erase_if(sorted, [](const Difference& one) { return !one.quantized; });
  std::ranges::stable_sort(sorted, {}, &Difference::sqnr);
  return text + "\nLayers with the lowest SQNR\n" + differences(sorted, rows).text();
}

std::string comparison_json(const Comparison& comparison, const ComparedFiles& files,
                            const SampleArguments& data) {
  Json json;
  json["verdict"] = verdict_json(comparison.verdict, {files.reference, files.other, data});
  json["reference"] = {{"file", files.reference}, {"bytes", files.reference_bytes}};
  json["other"] = {{"file", files.other}, {"bytes", files.other_bytes}};
  json["samples"] = comparison.samples;
  json["agreement"] = {{"rows", comparison.rows}, {"agreed", comparison.agreed}};
  if (comparison.labelled > 0) {
    json["labelled"] = comparison.labelled;
    json["reference"]["top1"] = percent(comparison.reference_top1, comparison.labelled) / 100;
    json["reference"]["top5"] = percent(comparison.reference_top5, comparison.labelled) / 100;
    json["other"]["top1"] = percent(comparison.other_top1, comparison.labelled) / 100;
    json["other"]["top5"] = percent(comparison.other_top5, comparison.labelled) / 100;
  }
  json["remarks"] = comparison.remarks;
  json["outputs"] = Json::array();
  for (const Difference& one : comparison.outputs) json["outputs"].push_back(json_of(one));
  json["layers"] = Json::array();
  for (const Difference& one : comparison.layers) json["layers"].push_back(json_of(one));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace anybit::cli
