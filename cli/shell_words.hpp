// Commands that can be pasted into a shell.
#pragma once

#include <string>

#include "sample_options.hpp"

namespace anybit::cli {

// A word, in quotes if it needs them.
std::string quoted(const std::string& word);
// " --calib PATH…" with the same preparation of images; empty without data.
std::string data_words(const SampleArguments& data);

}  // namespace anybit::cli
