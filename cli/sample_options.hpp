// The options for calibration and evaluation data, shared by all commands that read samples.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "anybit/samples.hpp"

namespace anybit::cli {

struct SampleArguments {
  std::vector<std::string> paths;  // PATH or NAME=PATH
  SampleOptions options;
};

// The number of samples and the preprocessing of images: --samples, --mean, --size, --resize, ….
std::vector<CLI::Option*> add_sample_settings(CLI::App& app, SampleOptions& options);
// `names`: of the option for the data, "--data" or "--calib,--data"; errors name the first.
void add_sample_options(CLI::App& app, const std::string& names, SampleArguments& arguments);

Result<Samples> open_samples(const Model& model, const SampleArguments& arguments);

// What a person should know about the samples that were read, on stderr.
void print_remarks(const Samples& samples);

}  // namespace anybit::cli
