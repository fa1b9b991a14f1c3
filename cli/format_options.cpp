#include "format_options.hpp"

#include <fmt/format.h>

#include "options.hpp"

namespace anybit::cli {

Result<ParameterValues> parse_parameters(const std::string& format, const std::vector<std::string>& texts) {
  ParameterValues values;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Code::invalid_argument,
                   fmt::format("--set: cannot read '{}'", text),
                   {},
                   "write it like --set saturate=false"};
    }
    const std::string name = text.substr(0, equals);
    if (values.contains(name)) {
      return Error{Code::invalid_argument, fmt::format("--set: {} is given twice", name), {}, "one value"};
    }
    auto value = parse_parameter(format, name, std::string_view(text).substr(equals + 1));
    if (!value.ok()) return wrong_call(std::move(value).error());
    values[name] = *std::move(value);
  }
  return values;
}

}  // namespace anybit::cli
