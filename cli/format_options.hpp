// Options by which commands name a format and its parameters.
#pragma once

#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

// "NAME=VALUE" for each, read as the types that the format's parameters have.
Result<ParameterValues> parse_parameters(const std::string& format, const std::vector<std::string>& texts);

}  // namespace anybit::cli
