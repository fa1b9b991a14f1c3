/// @file
/// Error handling: a Result<T> holds a value or an Error. An Error has a code, a message, a location and a
/// hint. The library reports all errors this way and throws no exceptions.
///
/// @code{.cpp}
/// #include <iostream>
///
/// #include "anybit/model.hpp"
///
/// anybit::Result<anybit::Model> model = anybit::Model::load("model.onnx");
/// if (!model) {
///   std::cerr << model.error().text() << "\n";
///   return;
/// }
/// anybit::Result<void> saved = model->save("copy.onnx");
/// @endcode
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

/// Error codes. The numbers are part of the ABI: new codes are added at the end, and no number is reused.
enum class Code : std::int32_t {
  invalid_argument = 1,  ///< bad argument: invalid option, impossible parameter
  not_found = 2,         ///< no such file, format or name
  io = 3,                ///< error of the operating system: permission, disk full, read error
  out_of_memory = 4,     ///< memory allocation failed
  malformed = 5,         ///< the bytes cannot be parsed: truncated, not a protobuf
  invalid_model = 6,     ///< well-formed, but violates the ONNX specification
  unsupported = 7,       ///< valid, but not supported by this version
  limit_exceeded = 8,    ///< larger than Limits allow
  unsafe_path = 9,       ///< external data outside the model's folder, or reached through a link
  data_lost = 10,        ///< a mapped file shrank or could not be read while it was in use
  invalid_state = 11,    ///< call out of order
  cancelled = 12,        ///< the caller cancelled the operation
  invalid_data = 13,     ///< NaN or infinity where finite values are required
};

/// Returns the name of a code, "invalid_model", as Python exceptions and `--json` spell it.
ANYBIT_API std::string_view name_of(Code code);

/// An error with its location and a remedy.
struct ANYBIT_API Error {
  Code code = Code::invalid_argument;
  std::string message;  ///< what is wrong
  std::string place;    ///< location: "node '/conv1'", "initializer 'w'", "byte 1234"; may be empty
  std::string hint;     ///< remedy; may be empty

  // Defined in the library rather than inline: every Result instantiates them.
  Error();
  Error(Code code, std::string message, std::string place = {}, std::string hint = {});
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  /// Returns "place: message", followed by the hint on a line of its own.
  std::string text() const;
  /// Returns the error with `outer` prepended to its place, for callers that know more of the context.
  Error within(std::string_view outer) &&;
};

/// A value of type T or an Error. Converts implicitly from both. Accessing the value of a failed Result, or
/// the error of a successful one, is undefined behavior: check ok() first.
//
// A union rather than std::variant, which takes several times as long to compile.
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
  /// Only for types whose move constructor does not throw: otherwise a failed move would leave the Result
  /// empty.
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

  /// Returns true if there is a value.
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  /// Returns the value. Requires ok(). The same holds for operators * and ->.
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return std::addressof(value_); }
  const T* operator->() const { return std::addressof(value_); }
  /// Returns the error. Requires !ok().
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  union {
    T value_;
    Error error_;
  };
  bool ok_;
};

/// The result of an operation without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  /// Returns true if the operation succeeded.
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  void value() const {}
  /// Returns the error. Requires !ok().
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace anybit
