// Typed parameters, by name and with bounds: those of formats, and of what else is a row of a table.
#pragma once

#include <span>

#include "formats/table.hpp"

namespace anybit::formats {

// Defaults filled in; unknown names, wrong types and values out of bounds are errors. `owner` is whose they
// are, for messages: "format int8", "refinement bias-correction".
Result<Values> complete(std::string_view owner, std::span<const Parameter> parameters, const Values& given);
// A parameter from text, read as the type that it has.
Result<Value> parse(std::string_view owner, std::span<const Parameter> parameters, std::string_view name,
                    std::string_view text);

}  // namespace anybit::formats
