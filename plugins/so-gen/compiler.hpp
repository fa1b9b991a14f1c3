// Runs the system's C compiler.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace anybit::sogen {

// $CC, which may have words behind the program's name, or cc.
std::vector<std::string> compiler();

// Runs a program in a folder, without a shell; what it prints comes back. Throws std::runtime_error if it
// cannot be started, fails, or takes longer than `limit`, with what it printed.
std::string run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                        std::chrono::seconds limit);

}  // namespace anybit::sogen
