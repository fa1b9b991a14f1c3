// What the programs `anybit` and `onert_run` share: exit codes, how errors are reported, and the outermost
// frame.
#pragma once

#include <functional>
#include <string_view>

#include "anybit/result.hpp"

namespace anybit::cli {

enum ExitCode { kFine = 0, kFailed = 1, kWrongCall = 2 };

// Prints a message of the program to standard error.
void complain(std::string_view program, std::string_view message, std::string_view hint);

// Prints an error and returns the exit code. With --json it is printed to standard output as JSON, too.
int report(std::string_view program, const Error& error, bool json);

// Runs the program: flushes its output, and reports what nothing else has caught.
int run_program(std::string_view name, const std::function<int()>& body);

}  // namespace anybit::cli
