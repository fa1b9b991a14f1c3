// Options that several commands share, and the parsers of their values.
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

// The limits (--max-rank, --max-nodes, --max-work-bytes, …) and --allow-linked-data.
void add_load_options(CLI::App& app, LoadOptions& options);

// --threads, --max-memory.
void add_executor_options(CLI::App& app, ExecutorOptions& options);

// --in-place: the output may overwrite the model.
void add_in_place_flag(CLI::App& app, bool& in_place);
Result<void> check_output(const std::string& model, const std::string& output, bool in_place);

// Loads a model. An error names the file; remarks about the model go to standard error.
Result<Model> load_model(const std::string& path, const LoadOptions& options);

// Adds the file name to an error that does not name it yet.
Error in_file(Error error, const std::string& path);
// The error of working on a model. One about a sample names that instead: the model is fine.
Error of_model(Error error, const std::string& path);

// Turns not_found into invalid_argument: an unknown name on the command line is a usage error.
Error wrong_call(Error error);
// An error of a generator: a usage error if no generator has that name.
Error of_generator(Error error, const std::string& name, const std::vector<std::string>& folders);

// Splits values at commas, without the spaces around them and without empty words.
std::vector<std::string> comma_separated(const std::vector<std::string>& values);

// Usage errors: an option value that cannot be parsed, or a name that is given twice.
Error unreadable(std::string_view option, std::string_view text, std::string_view example);
Error given_twice(std::string_view option, std::string_view name);

// Each text of `option` is "NAME=1,3,640,640". A name may hold '=': the last one separates.
Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(std::string_view option,
                                                                      const std::vector<std::string>& texts);
// Each text is "NAME=8".
Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& texts);
// "default", "performance", "memory", "compile-time".
Result<anybit_preference> parse_preference(const std::string& text);

}  // namespace anybit::cli
