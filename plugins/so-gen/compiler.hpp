// Runs the C compiler of the system.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace anybit::sogen {

// $CC, which may include options, or cc.
std::vector<std::string> compiler();

// Runs a program in a folder, without a shell, and returns its output. Throws std::runtime_error with the
// output if it cannot be started, fails, or takes longer than `limit`.
std::string run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                        std::chrono::seconds limit);

}  // namespace anybit::sogen
