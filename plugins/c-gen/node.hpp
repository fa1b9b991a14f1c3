// What an emitter works with: the node it turns into C, and the C file it writes to.
//
//   void relu(Node& node) {
//     node.loop("i", node.out().count());
//     node.line("{0}[i] = {1}[i] > 0 ? {1}[i] : 0;", node.y(), node.x(0));
//     node.end();
//   }
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "anybit/codegen.hpp"
#include "table.hpp"
#include "value.hpp"
#include "writer.hpp"

namespace anybit::cgen {

class Unit;
struct Body;

// A node that cannot be generated, with the reason; caught at the plugin's entry.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Node {
 public:
  // `scope`: the values of its graph.
  Node(Unit& unit, const anybit_node& view, std::vector<Value>& scope);

  // ---- The node.
  std::string_view op() const { return view_.op; }
  std::string_view name() const { return view_.name; }
  std::int64_t version() const { return view_.version; }
  const anybit_attribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<float>> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;

  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Value& in(std::size_t i) const;  // rejects a missing input
  std::size_t output_count() const { return outputs_.size(); }
  bool has_out(std::size_t i) const { return i < outputs_.size() && outputs_[i] != nullptr; }
  const Value& out(std::size_t i = 0) const;
  // An axis, normalized to be non-negative.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;

  // ---- Constant inputs.
  bool constant(std::size_t i) const { return has(i) && in(i).constant(); }
  // Elements of a constant input; rejects other inputs with `what` in the message.
  std::vector<std::int64_t> integers_in(std::size_t i, std::string_view what) const;
  std::vector<float> floats_in(std::size_t i, std::string_view what) const;
  // A scalar constant input; `otherwise` if the input is missing.
  std::int64_t integer_in(std::size_t i, std::string_view what, std::int64_t otherwise) const;
  float float_in(std::size_t i, std::string_view what, float otherwise) const;

  // ---- C expressions: pointers to the elements of inputs and outputs, with the C type Value::c().
  std::string x(std::size_t i);
  std::string y(std::size_t i = 0);
  // A packed constant of less than 8 bits: uint8_t, low bits first.
  std::string packed(std::size_t i);
  // The name of a function `void name(int32_t row, float *to)` that decodes a row of the matrix that a
  // DequantizeLinear or TableDecode makes from constants, so that the decoded matrix is never stored. Empty
  // if input `i` is no such matrix.
  std::optional<std::string> row_decoder(std::size_t i);
  // Scratch memory of this node, as a pointer to `type` ("int32_t").
  std::string scratch(std::string_view type, std::int64_t count);
  // A generated constant array; equal arrays are shared.
  std::string array(Element type, const void* elements, std::int64_t count);
  // Rejects tables that are too long: a model can declare large sizes cheaply, and C text takes more space.
  void check_table(std::int64_t entries) const;
  std::string floats(const std::vector<float>& numbers) {
    return array(Element::float32, numbers.data(), static_cast<std::int64_t>(numbers.size()));
  }
  std::string int32s(const std::vector<std::int32_t>& numbers) {
    return array(Element::int32, numbers.data(), static_cast<std::int64_t>(numbers.size()));
  }

  // ---- Text of the body.
  template <class... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    out_->line(fmt::format(format, std::forward<T>(values)...));
  }
  template <class... T>
  void open(fmt::format_string<T...> format, T&&... values) {
    out_->open(fmt::format(format, std::forward<T>(values)...));
  }
  void close() { out_->close(); }
  // for (int32_t name = 0; name < count; ++name) { … until end()
  void loop(std::string_view name, std::int64_t count);
  void end() { out_->close(); }

  // ---- Text before all bodies.
  // A function, type or macro that several nodes share; `name` identifies it, so that it is written once.
  void helper(std::string_view name, std::string_view text);

  // ---- Graphs inside a node (Place::inside).
  Body& body(std::string_view attribute);   // emits nothing yet; gives access to its values
  void emit(Body& body);                    // writes the calls of its nodes here
  std::string pointer(const Value& value);  // to one of its outputs, after emit()
  // Keeps a value's memory for the whole run of the node: loop-carried values.
  void hold(const Value& value);

  anybit_preference preference() const;
  bool fast() const { return preference() == ANYBIT_PREFER_PERFORMANCE; }
  bool small() const { return preference() == ANYBIT_PREFER_MEMORY; }
  bool quick() const { return preference() == ANYBIT_PREFER_COMPILE_TIME; }

  // "c-gen cannot generate node '…' (Conv): " and the reason.
  template <class... T>
  [[noreturn]] void refuse(fmt::format_string<T...> format, T&&... values) const {
    refuse_with(fmt::format(format, std::forward<T>(values)...));
  }

 private:
  friend class Unit;
  [[noreturn]] void refuse_with(const std::string& reason) const;

  std::string parameter(std::string_view type, std::string name, std::string argument);

  Unit& unit_;
  const anybit_node& view_;
  std::vector<Value>& scope_;
  std::vector<Value*> inputs_, outputs_;
  Writer own_{1};        // the body of a function
  Writer* out_ = &own_;  // or the code that calls functions
  bool inside_ = false;
  int in_place_ = -1;  // the input that output 0 is written over
  int first_step_ = 0;
  struct Parameter {
    std::string type, name, argument;
  };
  std::vector<Parameter> parameters_;
  std::unordered_set<std::string> parameter_names_;
  std::vector<int> scratches_;
};

// A graph inside a node.
struct Body {
  const anybit_graph* graph = nullptr;
  std::vector<Value> values;
  std::vector<const Value*> inputs, outputs;
  std::vector<std::string> x;  // pointers to the inputs, which the caller fills
};

// C literals: "1.5f", "INFINITY", "-3".
std::string literal(float number);
std::string literal(double number);
std::string literal(std::int64_t number);

}  // namespace anybit::cgen
