// The values a model is run with: from files, or made up.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE, or FILE for a single input; .npz: one entry for each input
  std::vector<std::string> dims;    // NAME=SIZE, for values that are made up
  std::uint64_t seed = 0;
};

void add_input_options(CLI::App& app, InputOptions& options);

struct Inputs {
  std::map<std::string, Value> values;
  std::vector<std::string> made_up;  // names of those that no file was given for
};

Result<Inputs> gather_inputs(const std::vector<Port>& ports, const InputOptions& options);

// "float32[1, 3]" of a value.
std::string type_text(const Value& value);

}  // namespace anybit::cli
