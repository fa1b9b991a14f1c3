// Options that several commands have, and how their values are read.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "anybit/model.hpp"
#include "anybit/preference.h"
#include "anybit/result.hpp"

namespace anybit::cli {

// --max-rank, --max-elements, --max-nodes, --max-depth, --allow-linked-data.
void add_load_options(CLI::App& app, LoadOptions& options);

// --threads, --max-memory.
void add_executor_options(CLI::App& app, ExecutorOptions& options);

// --in-place: the output may take the place of the model.
void add_in_place_flag(CLI::App& app, bool& in_place);
Result<void> check_output(const std::string& model, const std::string& output, bool in_place);

// The error with the file's name in it; one of the operating system names it already.
Error in_file(Error error, const std::string& path);

// "NAME=1,3,640,640" for each. A name may hold '=': the last one counts.
Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(const std::vector<std::string>& texts);
// "NAME=8" for each.
Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& texts);
// "default", "performance", "memory", "compile-time".
Result<anybit_preference> parse_preference(const std::string& text);

}  // namespace anybit::cli
