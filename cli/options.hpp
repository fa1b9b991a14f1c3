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

// The limits (--max-rank, --max-nodes, --max-work-bytes, …) and --allow-linked-data.
void add_load_options(CLI::App& app, LoadOptions& options);

// --threads, --max-memory.
void add_executor_options(CLI::App& app, ExecutorOptions& options);

// --in-place: the output may take the place of the model.
void add_in_place_flag(CLI::App& app, bool& in_place);
Result<void> check_output(const std::string& model, const std::string& output, bool in_place);

// The model of a file. An error names the file; what is noticed about the model goes to standard error.
Result<Model> load_model(const std::string& path, const LoadOptions& options);

// The error with the file's name in it; one of the operating system names it already.
Error in_file(Error error, const std::string& path);

// An unknown name on the command line is a wrong call, not a missing thing.
Error wrong_call(Error error);
// What failed for a generator: a wrong call if there is none of that name.
Error of_generator(Error error, const std::string& name, const std::vector<std::string>& folders);

// A value of an option that is not what it should be, or a name that it has already: wrong calls.
Error unreadable(std::string_view option, std::string_view text, std::string_view example);
Error given_twice(std::string_view option, std::string_view name);

// "NAME=1,3,640,640" for each text of `option`. A name may hold '=': the last one counts.
Result<std::map<std::string, std::vector<std::int64_t>>> parse_shapes(std::string_view option,
                                                                      const std::vector<std::string>& texts);
// "NAME=8" for each.
Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& texts);
// "default", "performance", "memory", "compile-time".
Result<anybit_preference> parse_preference(const std::string& text);

}  // namespace anybit::cli
