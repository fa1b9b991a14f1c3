// The options that say where samples come from, for every command that takes some.
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

// How many samples to take, and what pictures become: --samples, --mean, --std, --size, --layout.
std::vector<CLI::Option*> add_sample_settings(CLI::App& app, SampleOptions& options);
// `flag`: what names the data, "--data" or "--calib".
void add_sample_options(CLI::App& app, const std::string& flag, SampleArguments& arguments);

Result<Samples> open_samples(const Model& model, const SampleArguments& arguments);

}  // namespace anybit::cli
