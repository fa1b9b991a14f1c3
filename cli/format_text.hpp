// Number formats as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "anybit/formats.hpp"

namespace anybit::cli {

// One table per family. Formats that differ only in width (int2 … int16) share a row.
std::string to_text(const std::vector<FormatInfo>& formats);
// One format: properties, layout, parameters, and an example that the library computes.
Result<std::string> to_text(const FormatInfo& format, const ParameterValues& parameters);

std::string to_json(const std::vector<FormatInfo>& formats);
Result<std::string> to_json(const FormatInfo& format, const ParameterValues& parameters);

// "448", "0.5", "2^-16".
std::string number_text(double x);
std::string value_text(const ParameterValue& value);

}  // namespace anybit::cli
