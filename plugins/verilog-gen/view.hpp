// The model's view with constants and attributes as numbers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/codegen.hpp"

namespace anybit::verilog {

// A model that cannot be generated, with the reason; caught at the plugin's entry.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Value {
 public:
  explicit Value(const anybit_value& view) : view_(&view) {}
  std::string name() const { return view_->name; }
  std::string_view type() const { return view_->type; }
  bool constant() const { return view_->data != nullptr; }
  std::vector<std::int64_t> dims() const;
  std::int64_t count() const;
  bool is_float() const { return type() == "float32"; }
  // The elements of a constant of integers of 8 bits or more, or of booleans; nothing for other types.
  std::optional<std::vector<std::int64_t>> integers() const;
  std::optional<std::vector<float>> floats() const;  // of float32
  const anybit_value* view() const { return view_; }

 private:
  template <class T, class To>
  std::vector<To> read() const;
  const anybit_value* view_;
};

// 8 bits or fewer, or more; of a type of integers.
struct IntegerType {
  int bits = 0;
  bool is_signed = false;
};
std::optional<IntegerType> integer_type(std::string_view type);

class Node {
 public:
  Node(const anybit_graph& graph, const anybit_node& view) : graph_(graph), view_(view) {}
  std::string_view op() const { return view_.op; }
  bool is(std::string_view op, std::string_view domain = "") const {
    return op == view_.op && domain == view_.domain;
  }
  std::size_t input_count() const { return view_.input_count; }
  bool has(std::size_t i) const { return i < view_.input_count && view_.inputs[i] >= 0; }
  int index(std::size_t i) const { return has(i) ? view_.inputs[i] : -1; }
  int out_index() const { return view_.output_count > 0 ? view_.outputs[0] : -1; }
  Value in(std::size_t i) const;
  Value out() const;
  std::int64_t version() const { return view_.version; }

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;

  // A constant input of one number; `otherwise` if it is left out.
  float real_in(std::size_t i, std::string_view what) const;
  std::int64_t integer_in(std::size_t i, std::string_view what, std::int64_t otherwise) const;
  // A constant input.
  std::vector<std::int64_t> integers_in(std::size_t i, std::string_view what) const;
  std::vector<float> reals_in(std::size_t i, std::string_view what) const;

  // "verilog-gen cannot generate node 'x' (Conv): " and the reason.
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) const {
    refuse_with(fmt::format(format, std::forward<T>(values)...));
  }

 private:
  [[noreturn]] void refuse_with(const std::string& reason) const;
  const anybit_attribute* attribute(std::string_view name) const;
  const anybit_graph& graph_;
  const anybit_node& view_;
};

// A name from the model in a comment of one line.
std::string in_comment(std::string_view name);

}  // namespace anybit::verilog
