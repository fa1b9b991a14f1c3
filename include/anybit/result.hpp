// Errors caused by input are values: a Result holds what was asked for, or an Error that says what was wrong,
// where, and what would be right. Nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "anybit/export.hpp"

namespace anybit {

// The numbers are part of the ABI: new ones are added at the end, none is reused.
enum class Code : std::int32_t {
  invalid_argument = 1,  // the call was wrong: a bad option, an impossible parameter
  not_found = 2,         // no such file, format, name
  io = 3,                // the operating system refused: permission, disk full, read error
  out_of_memory = 4,
  malformed = 5,       // the bytes are not what they claim to be: truncated, not a protobuf
  invalid_model = 6,   // well-formed, but breaks ONNX's rules
  unsupported = 7,     // valid, but beyond what this version does
  limit_exceeded = 8,  // larger than `Limits` allows
  unsafe_path = 9,     // external data outside the model's folder, or reached through a link
  data_lost = 10,      // a mapped file shrank or failed while it was in use
  invalid_state = 11,  // a call out of order
  cancelled = 12,
  invalid_data = 13,  // values that cannot be meant: NaN or Inf in weights
};

// "invalid_model", as the Python exceptions and `--json` spell it.
ANYBIT_API std::string_view name_of(Code code);

struct Error {
  Code code = Code::invalid_argument;
  std::string message;  // what was wrong
  std::string place;    // where: "node '/conv1'", "initializer 'w'", "byte 1234"; may be empty
  std::string hint;     // what would be right; may be empty

  // "place: message", then the hint on a line of its own.
  ANYBIT_API std::string text() const;
  // The same error seen from further out: `outer` goes before the place.
  ANYBIT_API Error within(std::string_view outer) &&;
};

template <class T>
class [[nodiscard]] Result {
 public:
  template <class U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {}
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace anybit
