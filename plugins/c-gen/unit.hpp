// The C file under construction: constants, memory, functions.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "node.hpp"
#include "plan.hpp"

namespace anybit::cgen {

// Storage of elements. Several values share one if they are views of it, or if one is written in place over
// another.
struct Storage {
  std::int64_t bytes = 0;
  Span life = {};
  int merged_into = -1;
  int uses = 0;            // remaining uses
  std::string outer = {};  // the entry's parameter that holds it; empty: it is in the arena
  std::string inner = {};  // the parameter of the function between Q and DQ
};

struct ConstantArray {
  std::string name, comment;
  Element type;
  const char* data;
  std::size_t bytes;
  std::int64_t count() const { return static_cast<std::int64_t>(bytes) / info(type).bytes; }
};

// The parameters of the entries.
struct Port {
  const Value* value = nullptr;  // with the model's type
  std::string name;              // the parameter name: in0, out1
  // The output of the QuantizeLinear at the input, or the input of the DequantizeLinear at the output; null
  // if there is none.
  const Value* quantized = nullptr;
  float scale = 0;  // scale of these integers, or of the model's own; 0: none
  std::int64_t zero_point = 0;
};

class Unit {
 public:
  Unit(const anybit_view& view, anybit_preference preference, std::string name);

  void generate();

  // ---- For Node.
  std::string address(const Value& value) const;  // resolved after memory planning
  std::string address(int storage) const;
  std::string constant(const Value& value);
  std::string packed(const Value& value);
  std::string array(Element type, std::string bytes, std::string comment);
  void helper(std::string_view name, std::string_view text);
  // Defines a function with these parameters and body, "(int32_t x) {…}\n", and returns its name. Equal
  // functions are shared.
  std::string function(std::string_view kind, const std::string& text, std::string_view comment = "");
  int scratch(std::int64_t bytes);
  Body& body(Node& node, const anybit_attribute& attribute);
  void emit_graph(const anybit_graph& graph, std::vector<Value>& values, Writer& calls);
  void touch(const Value& value);
  // Emits the producer of a value, if it is deferred.
  void need(const Value& value);
  // The deferred node that makes a value from constants; null if there is none.
  const anybit_node* waiting(const Value& value) const;
  std::vector<Value>& scope_of_waiting(const Value& value);
  void hold(const Value& value, int since);
  anybit_preference preference() const { return preference_; }

  // ---- Results.
  const std::string& name() const { return name_; }
  const anybit_view& view() const { return view_; }
  const std::deque<ConstantArray>& constants() const { return constants_; }
  const std::string& helpers() const { return helpers_; }
  const std::string& functions() const { return functions_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  // The calls, with resolved addresses.
  std::string before() const { return resolved(before_.text(), true); }
  std::string between(bool outer) const { return resolved(between_.text(), outer); }
  std::string after() const { return resolved(after_.text(), true); }
  std::string outer_address(const Value& value) const { return resolved(address(value), true); }
  bool has_quantized_entry() const;
  // Reasons why runs may fail: invalid branches.
  const std::vector<std::string>& failures() const { return failures_; }
  std::int64_t arena_bytes() const { return arena_bytes_; }
  // The alignment of values in the arena: vectors should not cross cache lines, but alignment takes more
  // memory.
  std::int64_t alignment() const { return preference_ == ANYBIT_PREFER_MEMORY ? 8 : 64; }
  std::int64_t constant_bytes() const;

 private:
  // A node whose inputs are constants, directly or through such nodes: it runs just before its first
  // consumer.
  struct Waiting {
    const anybit_node* node;
    std::vector<Value>* scope;
    Writer* calls;
  };

  int root(int storage) const;
  Storage& storage_of(const Value& value) { return storages_[static_cast<std::size_t>(root(value.storage))]; }
  int add_storage(std::int64_t bytes);
  void make_values(const anybit_graph& graph, std::vector<Value>& values);
  void count_uses(const anybit_graph& graph, std::vector<Value>& values);
  void make_ports();
  void find_quantized_ports();
  bool can_wait(const anybit_node& node, std::vector<Value>& values) const;
  void emit_node(const anybit_node& view, std::vector<Value>& values, Writer& calls);
  void emit_function(Node& node, Writer& calls);
  void emit_view(Value& from, Value& to, Writer& calls);
  void emit_copy(const Value& from, const Value& to, Writer& calls);
  int find_in_place(const Node& node);
  void merge(int from, int into);
  void used(const anybit_node& node, std::vector<Value>& values);
  void plan();
  std::string resolved(const std::string& text, bool outer) const;

  const anybit_view& view_;
  anybit_preference preference_;
  std::string name_;
  std::vector<std::string> failures_;
  int step_ = 0;
  std::vector<Value> values_;
  std::deque<Body> bodies_;
  std::vector<Storage> storages_;
  std::vector<std::int64_t> offsets_;
  std::int64_t arena_bytes_ = 0;
  std::deque<ConstantArray> constants_;
  std::deque<std::string> owned_;
  std::map<std::pair<Element, std::string_view>, std::string> known_constants_;
  std::set<std::string, std::less<>> known_helpers_;
  std::map<std::string, std::string> known_functions_;
  std::string helpers_, functions_;
  std::vector<Port> inputs_, outputs_;
  std::map<int, Waiting> waiting_;                         // keyed by the storage of their outputs
  std::set<const anybit_node*> first_nodes_, last_nodes_;  // the Q and DQ nodes at the ports
  Writer before_{1}, between_{1}, after_{1};
};

}  // namespace anybit::cgen
