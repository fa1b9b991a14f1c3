// Reads the members of a ranges file, which is untrusted input.
#pragma once

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/try.hpp"
#include "calibrate/json.hpp"

namespace anybit::calibrate {

// Counts that a double represents exactly. Merging thousands of them does not overflow.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;

inline Error damaged(std::string message) {
  return error_at(Code::malformed, {}, std::move(message), "calibrate again");
}

inline Result<std::int64_t> integer(const JsonTree& object, const char* name, std::int64_t otherwise = -1) {
  const JsonTree* found = object.find(name);
  if (!found && otherwise >= 0) return otherwise;
  if (!found || !found->natural() || *found->natural() > kMostCounted)
    return damaged(fmt::format("'{}' is not an integer", name));
  return static_cast<std::int64_t>(*found->natural());
}

inline Result<double> real(const JsonTree& object, const char* name) {
  const JsonTree* found = object.find(name);
  if (!found || !found->is_number() || !std::isfinite(found->number()))
    return damaged(fmt::format("'{}' is not a number", name));
  return found->number();
}

}  // namespace anybit::calibrate
