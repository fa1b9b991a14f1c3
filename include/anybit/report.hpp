// The report that people look at: one HTML file that needs nothing else. docs/report.md tells how to read it.
//
//   auto page = anybit::report_page({.command = "quantize", .before = {.model = &model}});
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/calibrate.hpp"
#include "anybit/compare.hpp"
#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/quantize.hpp"
#include "anybit/result.hpp"

namespace anybit {

// What is there is shown; the page says of the rest how to get it. Nothing is owned.
struct ReportInput {
  struct File {
    const Model* model = nullptr;
    std::string path;          // empty: the model's own
    std::int64_t bytes = 0;    // of the file; 0: the model's own
    double milliseconds = -1;  // of one run; negative: not measured
  };
  std::string command;  // "quantize", "compare", "calibrate": what the page is about
  File before, after;   // after: only once something was quantized
  const QuantizationReport* quantization = nullptr;
  const Comparison* comparison = nullptr;
  const Ranges* ranges = nullptr;  // of `before`
  RangeOptions range;              // how `ranges` become ranges
};

// All that the page shows, as JSON.
ANYBIT_API Result<std::string> report_json(const ReportInput& input) noexcept;
// The page, with the same JSON in it.
ANYBIT_API Result<std::string> report_page(const ReportInput& input) noexcept;

}  // namespace anybit
