#include "anybit/result.hpp"

#include <cerrno>
#include <system_error>

#include "base/error.hpp"

namespace anybit {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::io: return "io";
    case Code::out_of_memory: return "out_of_memory";
    case Code::malformed: return "malformed";
    case Code::invalid_model: return "invalid_model";
    case Code::unsupported: return "unsupported";
    case Code::limit_exceeded: return "limit_exceeded";
    case Code::unsafe_path: return "unsafe_path";
    case Code::data_lost: return "data_lost";
    case Code::invalid_state: return "invalid_state";
    case Code::cancelled: return "cancelled";
  }
  return "unknown";
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

Error system_error(std::string_view action, std::string_view path, int error_number) {
  const Code code = error_number == ENOENT   ? Code::not_found
                    : error_number == ENOMEM ? Code::out_of_memory
                                             : Code::io;
  return error_at(code, {}, fmt::format("{} '{}': {}", action, path, std::generic_category().message(error_number)));
}

}  // namespace anybit
