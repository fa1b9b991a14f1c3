// JSON, read and written without surprises when memory runs out: destroying a tree takes none (that of the
// library does, and where nothing may be thrown), and text is made piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

class JsonTree {
 public:
  using Members = std::vector<std::pair<std::string, JsonTree>>;  // in the order of the text
  struct Limits {
    std::size_t bytes, values;
    int depth;
  };

  JsonTree() = default;
  // An error if it is no JSON, or more than the limits allow.
  static Result<JsonTree> parse(std::string_view text, const Limits& limits);

  // Null, if this is another thing.
  const Members* members() const;
  const std::string* text() const;
  bool is_number() const;
  double number() const;                                                              // of any number
  const std::uint64_t* whole() const { return std::get_if<std::uint64_t>(&value_); }  // not below zero
  const std::int64_t* negative() const { return std::get_if<std::int64_t>(&value_); }
  // Of an object; null if it has none of this name.
  const JsonTree* find(std::string_view name) const;

 private:
  friend class JsonBuilder;
  using Items = std::vector<JsonTree>;
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::unique_ptr<std::string>,
               std::unique_ptr<Items>, std::unique_ptr<Members>>
      value_;
};

// A string in quotes; bytes that are no UTF-8 are replaced.
std::string json_text(std::string_view text);
// The shortest text that reads back as this finite number.
std::string json_number(double number);

}  // namespace anybit
