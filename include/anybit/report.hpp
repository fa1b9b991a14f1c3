/// @file
/// The visual report: one self-contained HTML page about a model, its quantization, comparison or
/// calibration. See docs/report.md.
///
/// @code{.cpp}
/// #include "anybit/write_file.hpp"
///
/// auto model = anybit::Model::load("model.onnx");
/// auto quantized = anybit::Model::load("model.q.onnx");
/// if (!model || !quantized) return;
/// anybit::ReportInput input;
/// input.command = "compare";
/// input.before.model = &*model;
/// input.after.model = &*quantized;
/// auto page = anybit::report_page(input);
/// if (!page) return;
/// auto written = anybit::write_file("report.html", *page);
/// @endcode
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "anybit/calibrate.hpp"
#include "anybit/compare.hpp"
#include "anybit/executor.hpp"
#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/quantize.hpp"
#include "anybit/result.hpp"
#include "anybit/sensitivity.hpp"
#include "anybit/sweep.hpp"

namespace anybit {

/// The contents of a report. All pointers are optional and not owned; the page says how to obtain what is
/// missing.
struct ReportInput {
  /// A model of the report.
  struct File {
    const Model* model = nullptr;
    std::string path;                           ///< empty: the model's own path
    std::int64_t bytes = 0;                     ///< of the file; 0: the size of the model's own file
    double milliseconds = -1;                   ///< of one run; negative: not measured
    std::vector<RunProfile::Entry> times = {};  ///< of its nodes; empty: not measured
  };
  std::string command;  ///< subject of the page: "quantize", "compare", "calibrate", "sensitivity" or "sweep"
  File before, after;   ///< the float model, and the quantized model if there is one
  const QuantizationReport* quantization = nullptr;
  const Comparison* comparison = nullptr;
  const Ranges* ranges = nullptr;  ///< statistics of `before`
  RangeOptions range;              ///< observer for `ranges`
  const Sensitivity* sensitivity = nullptr;
  const Sweep* sweep = nullptr;
};

/// Returns the data of the page as JSON.
ANYBIT_API Result<std::string> report_json(const ReportInput& input) noexcept;
/// Returns the HTML page, which embeds the same JSON.
ANYBIT_API Result<std::string> report_page(const ReportInput& input) noexcept;

/// Adds the earlier names of renamed keys to a JSON object of anybit, each with the value under its new name.
/// All results in JSON have both keys. `Json` is nlohmann::ordered_json, or has the same members.
template <class Json>
void add_json_aliases(Json& object) {
  constexpr struct {
    const char *key, *alias;
  } kRenamed[] = {{"bias_corrected_layers", "means_kept"},
                  {"rounded_for_sums", "moved_for_sums"},
                  {"sqnr_db", "signal_to_noise_db"}};
  for (const auto& [key, alias] : kRenamed) {
    if (!object.contains(key)) continue;
    Json value = object.at(key);
    object[alias] = std::move(value);
  }
}

}  // namespace anybit
