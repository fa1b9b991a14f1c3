// --report FILE: the HTML report that commands write beside their main output.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "anybit/report.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

void add_report_option(CLI::App& app, std::string& path);

// A model of a report, with the best time of one run and of its nodes: on the first sample, or on random
// values if the model fixes the shapes. Without times if they cannot be measured.
ReportInput::File reported(const Model& model, const std::string& path, std::int64_t bytes,
                           const SampleArguments& samples, const ExecutorOptions& options);

// Writes the file atomically.
Result<void> write_report(const std::string& path, const ReportInput& input);

}  // namespace anybit::cli
