// JSON that is safe when memory runs out: destroying a tree allocates nothing (nlohmann's does, where
// exceptions are not allowed), and text is written in pieces.
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
  // An error if the text is not valid JSON or exceeds the limits.
  static Result<JsonTree> parse(std::string_view text, const Limits& limits);

  // These return null for another type.
  const Members* members() const;
  const std::string* text() const;
  bool is_number() const;
  double number() const;                                                                // of any number
  const std::uint64_t* natural() const { return std::get_if<std::uint64_t>(&value_); }  // nonnegative integer
  const std::int64_t* negative() const { return std::get_if<std::int64_t>(&value_); }
  // The member of an object; null if there is none of this name.
  const JsonTree* find(std::string_view name) const;

 private:
  friend class JsonBuilder;
  using Items = std::vector<JsonTree>;
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::unique_ptr<std::string>,
               std::unique_ptr<Items>, std::unique_ptr<Members>>
      value_;
};

// A quoted string. Invalid UTF-8 is replaced.
std::string json_text(std::string_view text);
// The shortest text that parses to this finite number.
std::string json_number(double number);

}  // namespace anybit
