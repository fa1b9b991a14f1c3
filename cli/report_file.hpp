// --report FILE: the HTML report that commands write beside their main output.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "anybit/report.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

void add_report_option(CLI::App& app, std::string& path);

// The best time of one run: on the first sample, or on random values if the model fixes the shapes. Negative
// if it cannot be measured.
double milliseconds(const Model& model, const SampleArguments& samples, const ExecutorOptions& options);

// Writes the file atomically.
Result<void> write_report(const std::string& path, const ReportInput& input);

}  // namespace anybit::cli
