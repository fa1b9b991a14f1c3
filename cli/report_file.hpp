// --report FILE: the page that commands write beside their main output.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "anybit/report.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

void add_report_option(CLI::App& app, std::string& path);

// How long one run takes, at best: on the first sample, or on random values if the model tells their size.
// Negative if it cannot be told.
double milliseconds(const Model& model, const SampleArguments& samples, const ExecutorOptions& options);

// The file appears whole or not at all.
Result<void> write_report(const std::string& path, const ReportInput& input);

}  // namespace anybit::cli
