// Shorthands to make an Error: message first, then place, then hint.
#pragma once

#include <fmt/format.h>

#include "anybit/result.hpp"

namespace anybit {

Error error_at(Code code, std::string place, std::string message, std::string hint = {});
Error invalid_model(std::string place, std::string message, std::string hint = {});
Error invalid_argument(std::string message, std::string hint = {});

// A name from a model or a command line, made safe for messages: control characters as \x1b, truncated if
// very long.
std::string shown(std::string_view name);

// errno as an error: "cannot open 'x': No such file or directory". ENOENT becomes not_found, ENOMEM
// out_of_memory.
Error system_error(std::string_view action, std::string_view path, int error_number);

}  // namespace anybit
