// Errors caused by input are values: a Result holds what was asked for, or an Error that says what was wrong,
// where, and what would be right. Nothing here throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

struct ANYBIT_API Error {
  Code code = Code::invalid_argument;
  std::string message;  // what was wrong
  std::string place;    // where: "node '/conv1'", "initializer 'w'", "byte 1234"; may be empty
  std::string hint;     // what would be right; may be empty

  // Compiled once, since every Result has one.
  Error();
  Error(Code code, std::string message, std::string place = {}, std::string hint = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  // "place: message", then the hint on a line of its own.
  std::string text() const;
  // The same error seen from further out: `outer` goes before the place.
  Error within(std::string_view outer) &&;
};

// A union of its own, since std::variant takes several times as long to compile, and nearly every function
// returns one of these.
template <class T>
class [[nodiscard]] Result {
 public:
  template <class U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Error> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result>) Result(U&& value)
      : value_(std::forward<U>(value)), ok_(true) {}
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(std::addressof(value_), std::move(other.value_));
    } else {
      std::construct_at(&error_, std::move(other.error_));
    }
  }
  Result(const Result& other) requires(std::is_copy_constructible_v<T>) : ok_(other.ok_) {
    if (ok_) {
      std::construct_at(std::addressof(value_), other.value_);
    } else {
      std::construct_at(&error_, other.error_);
    }
  }
  // Only where a move cannot fail: one that did would leave neither a value nor an error here.
  Result& operator=(Result other) noexcept requires(std::is_nothrow_move_constructible_v<T>) {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~Result() {
    if (ok_) {
      std::destroy_at(std::addressof(value_));
    } else {
      std::destroy_at(&error_);
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return std::addressof(value_); }
  const T* operator->() const { return std::addressof(value_); }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  union {
    T value_;
    Error error_;
  };
  bool ok_;
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
