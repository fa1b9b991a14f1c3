// Two small values that preserve a model's file: a string that may be absent, and unknown fields.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace anybit::graph {

// A string field. An absent one reads as empty, but is distinguished when saving.
class Text {
 public:
  Text() = default;
  Text(std::string value) : value_(std::move(value)), present_(true) {}
  Text(std::string_view value) : Text(std::string(value)) {}
  Text(const char* value) : Text(std::string(value)) {}

  bool present() const { return present_; }
  bool empty() const { return value_.empty(); }
  const std::string& str() const { return value_; }
  operator const std::string&() const { return value_; }
  std::string take() && { return std::move(value_); }

  friend bool operator==(const Text&, const Text&) = default;
  // Compares the content only. One overload per kind of string, since a conversion to Text would be
  // ambiguous.
  friend bool operator==(const Text& a, std::string_view b) { return a.value_ == b; }
  friend bool operator==(const Text& a, const std::string& b) { return a.value_ == b; }
  friend bool operator==(const Text& a, const char* b) { return a.value_ == b; }

 private:
  std::string value_;
  bool present_ = false;
};

// The serialized unknown fields of a message. Almost always empty, hence the pointer.
class Extra {
 public:
  Extra() = default;
  explicit Extra(std::string bytes) {
    if (!bytes.empty()) bytes_ = std::make_unique<std::string>(std::move(bytes));
  }
  Extra(const Extra& other) : bytes_(other.bytes_ ? std::make_unique<std::string>(*other.bytes_) : nullptr) {}
  Extra(Extra&&) noexcept = default;
  Extra& operator=(const Extra& other) { return *this = Extra(other); }
  Extra& operator=(Extra&&) noexcept = default;
  ~Extra() = default;
  bool empty() const { return !bytes_; }
  std::string_view bytes() const { return bytes_ ? std::string_view(*bytes_) : std::string_view(); }

 private:
  std::unique_ptr<std::string> bytes_;
};

struct Property {  // StringStringEntryProto: metadata, external-data entries, bindings
  Text key, value;
  Extra extra;
};

}  // namespace anybit::graph
