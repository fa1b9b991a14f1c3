// Typed parameters with names and bounds, for formats and other registries (refinements, for example).
#pragma once

#include <span>

#include "formats/table.hpp"

namespace anybit::formats {

// Fills in defaults; rejects unknown names, wrong types and values out of bounds. `owner` names the object in
// messages: "format int8", "refinement bias-correction".
Result<Values> complete(std::string_view owner, std::span<const Parameter> parameters, const Values& given);
// Parses the text of a parameter as the parameter's type.
Result<Value> parse(std::string_view owner, std::span<const Parameter> parameters, std::string_view name,
                    std::string_view text);

}  // namespace anybit::formats
