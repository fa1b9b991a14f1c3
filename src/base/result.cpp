#include "anybit/result.hpp"

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/value.hpp"

namespace anybit {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::io:
      return "io";
    case Code::out_of_memory:
      return "out_of_memory";
    case Code::malformed:
      return "malformed";
    case Code::invalid_model:
      return "invalid_model";
    case Code::unsupported:
      return "unsupported";
    case Code::limit_exceeded:
      return "limit_exceeded";
    case Code::unsafe_path:
      return "unsafe_path";
    case Code::data_lost:
      return "data_lost";
    case Code::invalid_state:
      return "invalid_state";
    case Code::cancelled:
      return "cancelled";
    case Code::invalid_data:
      return "invalid_data";
  }
  return "unknown";
}

ANYBIT_DEFINE_VALUE(Error);
Error::Error(Code code, std::string message, std::string place, std::string hint)
    : code(code), message(std::move(message)), place(std::move(place)), hint(std::move(hint)) {}

Error error_at(Code code, std::string place, std::string message, std::string hint) {
  return {code, std::move(message), std::move(place), std::move(hint)};
}

Error invalid_model(std::string place, std::string message, std::string hint) {
  return {Code::invalid_model, std::move(message), std::move(place), std::move(hint)};
}

Error invalid_argument(std::string message, std::string hint) {
  return {Code::invalid_argument, std::move(message), {}, std::move(hint)};
}

std::string Error::text() const {
  std::string text = place.empty() ? message : place + ": " + message;
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

Error Error::within(std::string_view outer) && {
  place = place.empty() ? std::string(outer) : fmt::format("{}: {}", outer, place);
  return std::move(*this);
}

std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 300;
  std::string text;
  for (char c : name.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return name.size() > kLongest ? text + "…" : text;
}

Error system_error(std::string_view action, std::string_view path, int error_number) {
  const Code code = error_number == ENOENT   ? Code::not_found
                    : error_number == ENOMEM ? Code::out_of_memory
                                             : Code::io;
  return error_at(
      code, {},
      fmt::format("{} '{}': {}", action, shown(path), std::generic_category().message(error_number)),
      error_number == EMFILE ? "let the process open more files: ulimit -n" : "");
}

}  // namespace anybit
