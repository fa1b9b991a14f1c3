// The data of a report as one JSON document; web/src/data.ts describes the same structure.
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "anybit/report.hpp"
#include "anybit/version.hpp"
#include "api/inspect_parameters.hpp"
#include "api/model_access.hpp"
#include "api/ranges.hpp"
#include "api/report_facts.hpp"
#include "api/report_graph.hpp"
#include "api/report_samples.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "calibrate/histogram.hpp"
#include "calibrate/table.hpp"
#include "portable/to_operators.hpp"
#include "quantize/dequantize.hpp"

namespace anybit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLeastElements = 16;  // smaller constants get no weight plot

Json json_of(const Histogram& one) {
  if (one.counts.empty()) return nullptr;
  return {{"low", one.low}, {"high", one.high}, {"counts", one.counts}};
}

Json json_of(const ReportInput::File& file) {
  if (!file.model) return nullptr;
  const Model::Content& content = ModelAccess::content(*file.model);
  Inspection counted;
  count_parameters(content.model, counted);
  Json parameters = Json::array();
  for (const auto& one : counted.parameters)
    parameters.push_back(
        {{"type", one.type}, {"tensors", one.tensors}, {"elements", one.elements}, {"bytes", one.bytes}});
  const std::string& path = file.path.empty() ? content.path : file.path;
  const std::string& name = content.model.graph->name.str();
  Json json = {{"file", !path.empty()   ? path
                        : !name.empty() ? name
                                        : "model"},
               {"bytes", file.bytes > 0 ? file.bytes : ModelAccess::bytes_of(*file.model)},
               {"parameters", std::move(parameters)}};
  if (file.milliseconds >= 0) json["ms"] = file.milliseconds;
  return json;
}

Json json_of(const QuantizationReport::Node& one) {
  Json json = {{"name", one.name}, {"op", one.op}, {"in", one.inputs}, {"out", one.outputs}};
  if (!one.outcome.empty()) json["outcome"] = one.outcome;
  if (!one.graph.empty()) json["graph"] = one.graph;
  if (!one.what.empty()) json["to"] = one.what;
  if (!one.reason.empty()) json["reason"] = one.reason;
  return json;
}

Json json_of(const QuantizationReport::Tensor& one) {
  Json json = {{"name", one.name}};
  if (!one.spec.empty()) json["to"] = one.spec;
  if (one.values.size() > 1) json["values"] = one.values;
  if (one.samples > 0 || one.fixed || one.levels > 0) {
    json["low"] = one.low;
    json["high"] = one.high;
  }
  if (one.samples > 0) {
    json["seen_low"] = one.seen_low;
    json["seen_high"] = one.seen_high;
    json["samples"] = one.samples;
  }
  if (one.fixed) json["fixed"] = true;
  if (one.levels > 0) {
    json["scale"] = one.scale;
    json["zero_point"] = one.zero_point;
    json["levels"] = one.levels;
    json["grid_low"] = one.grid_low;
    json["grid_high"] = one.grid_high;
  }
  if (one.saturated >= 0 && one.samples > 0) json["saturated"] = one.saturated;
  if (!one.histogram.counts.empty()) json["histogram"] = json_of(one.histogram);
  return json;
}

Json json_of(const QuantizationReport::Weight& one) {
  Json json = {{"name", one.name}, {"bytes_before", one.bytes_before}};
  if (!one.spec.empty()) json["to"] = one.spec;
  if (one.bytes_after > 0) {
    json["bytes_after"] = one.bytes_after;
    json["sqnr_db"] = one.sqnr;
  }
  if (one.scales_raised > 0) json["raised"] = one.scales_raised;
  if (one.rounded_for_sums > 0) json["rounded_for_sums"] = one.rounded_for_sums;
  add_json_aliases(json);
  if (one.scales > 0) {
    json["levels"] = one.levels;
    json["scales"] = one.scales;
    json["scale_low"] = one.scale_low;
    json["scale_high"] = one.scale_high;
  }
  if (!one.histogram.counts.empty()) json["histogram"] = json_of(one.histogram);
  return json;
}

Json json_of(const Difference& one) {
  Json json = {{"name", one.name},
               {"op", one.op},
               {"sqnr_db", one.sqnr},
               {"cosine", one.cosine},
               {"largest_error", one.largest_error},
               {"largest_value", one.largest_value}};
  add_json_aliases(json);
  return json;
}

Json json_of(const Comparison& one) {
  Json json = {{"samples", one.samples}, {"rows", one.rows}, {"agreed", one.agreed}};
  if (one.labelled > 0) {
    json["labelled"] = one.labelled;
    json["before"] = {{"top1", one.reference_top1}, {"top5", one.reference_top5}};
    json["after"] = {{"top1", one.other_top1}, {"top5", one.other_top5}};
  }
  json["outputs"] = Json::array();
  json["layers"] = Json::array();
  for (const Difference& output : one.outputs) json["outputs"].push_back(json_of(output));
  for (const Difference& layer : one.layers) json["layers"].push_back(json_of(layer));
  json["worst_samples"] = worst_samples_json(one.worst_samples);
  return json;
}

// One row per measured layer.
Json json_of(const Sensitivity& found) {
  Json rows = Json::array();
  for (const LayerSensitivity& one : found.layers) {
    if (!one.measured) continue;
    rows.push_back({{"node", one.node},
                    {"alone_quantized_sqnr_db", one.alone.sqnr},
                    {"alone_float_sqnr_db", one.left.sqnr},
                    {"harm", one.harm}});
  }
  return rows;
}

template <class Row>
Json list_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(json_of(row));
  return list;
}

// The observed range of a value: by the requested observer, or the fit of its grid.
Result<void> add_seen(const calibrate::Statistics& seen, const RangeOptions& how,
                      QuantizationReport::Tensor& row) {
  if (seen.extent.samples == 0 || seen.extent.finite() == 0) return {};
  calibrate::Range range{row.low, row.high};
  if (row.levels == 0) {
    const calibrate::Descriptor* observer = TRY(calibrate::named(how.observer));
    if (seen.has(observer->needs))
      range = observer->choose(seen, {.levels = how.levels, .symmetric = how.symmetric},
                               {.percentile = how.percentile});
  }
  row.low = range.low;
  row.high = range.high;
  row.seen_low = seen.extent.min;
  row.seen_high = seen.extent.max;
  row.samples = seen.extent.samples;
  // Values within half a step beyond the range are rounded to its ends, and do not saturate.
  const float margin = row.levels > 0 ? row.scale / 2 : 0;
  row.saturated = calibrate::share_outside(seen, {range.low - margin, range.high + margin});
  row.histogram = calibrate::histogram(seen);
  return {};
}

Result<std::vector<QuantizationReport::Tensor>> with_ranges(std::vector<QuantizationReport::Tensor> tensors,
                                                            const ReportInput& input) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < tensors.size(); ++i) places.emplace(tensors[i].name, i);
  for (const auto& [name, seen] : RangesAccess::inner(*input.ranges).tensors) {
    const auto [place, fresh] = places.emplace(name, tensors.size());
    if (fresh) {
      tensors.emplace_back().name = name;
      tensors.back().values = {name};
    }
    TRY(add_seen(seen, input.range, tensors[place->second]));
  }
  return tensors;
}

// The weights of the file; quantized ones are dequantized.
std::vector<QuantizationReport::Weight> weights_in(const graph::Graph& graph, const ReportGraph& drawn) {
  std::vector<QuantizationReport::Weight> list;
  for (const graph::Tensor& one : graph.initializers) {
    if (one.type() != graph::ElementType::float32 || one.count() < kLeastElements || one.dims.size() < 2)
      continue;
    QuantizationReport::Weight& row = list.emplace_back();
    row.name = one.name.str();
    row.bytes_before = static_cast<std::int64_t>(one.data.size());
    row.histogram = calibrate::histogram(one.data);
    if (const auto packed = drawn.weights.find(row.name); packed != drawn.weights.end()) {
      row.name = packed->second.name;
      row.spec = packed->second.format;
    }
  }
  return list;
}

void add_ports(const graph::Graph& graph, Json& json) {
  std::unordered_set<std::string> constants;  // files before IR 4 list them as inputs, too
  for (const graph::Tensor& one : graph.initializers) constants.insert(one.name.str());
  json["inputs"] = Json::array();
  json["outputs"] = Json::array();
  for (const graph::ValueInfo& one : graph.inputs) {
    if (constants.count(one.name.str()) == 0) json["inputs"].push_back(one.name.str());
  }
  for (const graph::ValueInfo& one : graph.outputs) json["outputs"].push_back(one.name.str());
}

// Unknown agreement is null.
Json share_or_null(double share) { return share < 0 ? Json() : Json(share); }

Json json_of(const TrainingReport& report) {
  Json curve = Json::array();
  for (const TrainingReport::Point& one : report.curve)
    curve.push_back({{"step", one.step}, {"loss", one.loss}, {"agreement", share_or_null(one.agreement)}});
  return {{"trained", report.trained},
          {"loss", report.loss},
          {"augment", report.augment},
          {"steps", report.steps},
          {"batch", report.batch},
          {"samples", report.samples},
          {"parameters", report.parameters},
          {"seconds", report.seconds},
          {"restarts", report.restarts},
          {"averaged", report.averaged},
          {"loss_before", report.loss_before},
          {"loss_after", report.loss_after},
          {"agreement_before", share_or_null(report.agreement_before)},
          {"agreement_after", share_or_null(report.agreement_after)},
          {"curve", std::move(curve)}};
}

void add_quantization(const QuantizationReport& report, Json& json) {
  if (report.training) json["training"] = json_of(*report.training);
  json["recipe"] = report.recipe;
  json["samples"] = report.samples;
  json["seconds"] = {{"prepare", report.prepare_seconds},
                     {"calibrate", report.calibrate_seconds},
                     {"quantize", report.quantize_seconds}};
  if (report.training) json["seconds"]["train"] = report.train_seconds;
  json["weight_bytes"] = {{"before", report.weight_bytes_before}, {"after", report.weight_bytes_after}};
  json["remarks"] = report.remarks;
  json["nodes"] = list_of(report.nodes);
  json["tensors"] = list_of(report.tensors);
  json["weights"] = list_of(report.weights);
}

Result<void> add_model(const ReportInput& input, Json& json) {
  const Model* shown = input.after.model ? input.after.model : input.before.model;
  ReportGraph graph;
  if (shown) {
    graph::Model model = ModelAccess::content(*shown).model;  // shares its tensors' data
    graph = TRY(drawn_graph(model, ModelAccess::content(*shown).limits));
    portable::to_operators(model);
    TRY(quantizing::dequantize(*model.graph));
    json["weights"] = list_of(weights_in(*model.graph, graph));
  }
  if (!input.after.model) {
    for (QuantizationReport::Node& one : graph.nodes) one.outcome.clear();
  }
  std::vector<QuantizationReport::Tensor> tensors = std::move(graph.tensors);
  if (input.ranges) tensors = TRY(with_ranges(std::move(tensors), input));
  json["samples"] = input.ranges ? input.ranges->samples() : input.comparison ? input.comparison->samples : 0;
  json["observer"] = input.range.observer;
  json["nodes"] = list_of(graph.nodes);
  json["tensors"] = list_of(tensors);
  return {};
}

}  // namespace

Result<std::string> report_json(const ReportInput& input) noexcept {
  return guarded([&]() -> Result<std::string> {
    Json json = {{"version", 1}, {"anybit", version().text}, {"command", input.command}};
    if (const Json before = json_of(input.before); !before.is_null()) json["before"] = before;
    if (const Json after = json_of(input.after); !after.is_null()) json["after"] = after;
    if (input.before.model) add_ports(*ModelAccess::content(*input.before.model).model.graph, json);
    if (input.quantization) add_quantization(*input.quantization, json);
    // A model that was quantized before is not changed, and the report has no quantization data of its nodes.
    if (!input.quantization || input.quantization->nodes.empty()) TRY(add_model(input, json));
    TRY(add_node_facts(input, json));
    if (input.comparison) {
      json["verdict"] = Json::parse(to_json(input.comparison->verdict));
      json["comparison"] = json_of(*input.comparison);
    }
    if (input.sensitivity) json["sensitivity"] = json_of(*input.sensitivity);
    if (input.sweep) json["sweep"] = Json::parse(to_json(*input.sweep));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  });
}

}  // namespace anybit
