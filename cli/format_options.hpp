// Parses the options that name a format and its parameters.
#pragma once

#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

// Each text is "NAME=VALUE"; the value has the type of the format's parameter.
Result<ParameterValues> parse_parameters(const std::string& format, const std::vector<std::string>& texts);

}  // namespace anybit::cli
