// The body of a function under construction: nodes of ONNX's operators, written like formulas on `Value`s.
//
//   Value steps = round(x / scale);     // two nodes
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::portable {

using graph::ElementType;
class Body;

// A value in a body, by its name. It belongs to the body, and must not outlive it.
class Value {
 public:
  Value(Body& body, std::string name) : body_(&body), name_(std::move(name)) {}
  Body& body() const { return *body_; }
  const std::string& name() const { return name_; }

 private:
  Body* body_;
  std::string name_;
};

class Body {
 public:
  using Integers = std::vector<std::int64_t>;

  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  Value input(std::string_view name);
  // An attribute of the call: a list of whole numbers.
  Value attribute(std::string_view name);

  // Constants; the same one is made once. Scalars have no dimensions, lists have one.
  Value real(double number);
  Value reals(const std::vector<double>& numbers);
  Value single(float number);
  Value singles(const std::vector<float>& numbers);
  Value integer(std::int64_t number);
  Value integers(const Integers& numbers);
  Value unsigned_integers(const std::vector<std::uint32_t>& numbers);
  Value bytes(const std::vector<std::uint8_t>& numbers);

  Value op(std::string_view type, const std::vector<Value>& inputs,
           std::vector<graph::Attribute> attributes = {});

  // The function with this one output, without what it does not need; nothing can be added afterwards.
  graph::Function finish(const Value& output) &&;

 private:
  template <class T>
  Value constant(ElementType type, Integers dims, std::vector<T> data);

  graph::Function function_;
  std::map<std::pair<std::int32_t, std::string>, std::string> constants_;  // by type, dimensions and bytes
};

// Arithmetic, with numpy's broadcasting. Numbers are float64: in it a float32 times a power of two is exact.
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator+(const Value& a, double b);
Value operator-(const Value& a, double b);
Value operator*(const Value& a, double b);
Value operator/(const Value& a, double b);
Value operator-(const Value& a);

Value max(const Value& a, const Value& b);
Value min(const Value& a, const Value& b);
Value max(const Value& a, double b);
Value min(const Value& a, double b);
Value clip(const Value& a, double low, double high);
Value abs(const Value& a);
Value floor(const Value& a);
Value round(const Value& a);  // half to even

Value less(const Value& a, const Value& b);
Value greater(const Value& a, const Value& b);
Value at_least(const Value& a, const Value& b);
Value equal(const Value& a, const Value& b);
Value less(const Value& a, double b);
Value greater(const Value& a, double b);
Value at_least(const Value& a, double b);
Value equal(const Value& a, double b);
Value either(const Value& a, const Value& b);
Value is_nan(const Value& a);
Value is_infinite(const Value& a);
Value where(const Value& condition, const Value& a, const Value& b);
Value where(const Value& condition, double a, const Value& b);
Value where(const Value& condition, const Value& a, double b);

Value cast(const Value& a, ElementType type);
Value to_double(const Value& a);
Value to_single(const Value& a);
Value to_index(const Value& a);
// table[index] along an axis, for each index.
Value gather(const Value& table, const Value& index, std::int64_t axis = 0);

// Shapes are lists of int64. A dimension of 0 is meant as such.
Value shape(const Value& a);
Value reshape(const Value& a, const Value& shape);
Value concat(const std::vector<Value>& lists);
Value slice(const Value& a, std::int64_t axis, const Value& begin, const Value& end);
// From index `begin` to before `end`, along the first axis; negative ones count from the end.
Value slice(const Value& list, std::int64_t begin, std::int64_t end);
constexpr std::int64_t kEnd = INT64_MAX;
Value product(const Value& list);  // of all numbers, as a list of one
Value transpose(const Value& a, std::vector<std::int64_t> permutation);
// `after` values more at the end of an axis.
Value pad(const Value& a, std::int64_t axis, const Value& after, const Value& with);
// "ReduceMax", "ReduceMin" or "ReduceSum" over some axes, which stay with length 1; over all if there are
// none.
Value reduce(std::string_view op, const Value& a, const std::vector<std::int64_t>& axes);

}  // namespace anybit::portable
