// Builds the body of a function from ONNX operators, written as formulas:
//
//   Term steps = round(x / scale);     // two nodes
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

class FunctionBody;

// A value in a body. It refers to the body and must not outlive it.
class Term {
 public:
  Term(FunctionBody& body, std::string name) : body_(&body), name_(std::move(name)) {}
  FunctionBody& body() const { return *body_; }
  const std::string& name() const { return name_; }

 private:
  FunctionBody* body_;
  std::string name_;
};

class FunctionBody {
 public:
  using Integers = std::vector<std::int64_t>;
  static constexpr std::int64_t kEnd = INT64_MAX;  // for slices

  FunctionBody() = default;
  FunctionBody(const FunctionBody&) = delete;
  FunctionBody& operator=(const FunctionBody&) = delete;

  Term input(std::string_view name);
  // An attribute of the call: a list of integers.
  Term attribute(std::string_view name);

  // Constants; equal ones are created once. Scalars have rank 0, lists rank 1.
  Term real(double number);
  Term reals(const std::vector<double>& numbers);
  Term single(float number);
  Term singles(const std::vector<float>& numbers);
  Term integer(std::int64_t number);
  Term integers(const Integers& numbers);
  Term unsigned_integers(const std::vector<std::uint32_t>& numbers);
  Term bytes(const std::vector<std::uint8_t>& numbers);

  Term op(std::string_view type, const std::vector<Term>& inputs, std::vector<Attribute> attributes = {});

  // The function with this output, without unused nodes. Nothing can be added afterwards.
  Function finish(const Term& output) &&;

 private:
  template <class T>
  Term constant(ElementType type, Integers dims, std::vector<T> data);

  Function function_;
  std::map<std::pair<std::int32_t, std::string>, std::string> constants_;  // by type, dimensions and bytes
};

// Arithmetic with numpy's broadcasting. Scalars are float64: a float32 times a power of two is exact there.
Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator+(const Term& a, double b);
Term operator-(const Term& a, double b);
Term operator*(const Term& a, double b);
Term operator/(const Term& a, double b);
Term operator-(const Term& a);

Term max(const Term& a, const Term& b);
Term min(const Term& a, const Term& b);
Term max(const Term& a, double b);
Term min(const Term& a, double b);
Term clip(const Term& a, double low, double high);
Term abs(const Term& a);
Term floor(const Term& a);
Term round(const Term& a);  // half to even

Term less(const Term& a, const Term& b);
Term greater(const Term& a, const Term& b);
Term at_least(const Term& a, const Term& b);
Term equal(const Term& a, const Term& b);
Term less(const Term& a, double b);
Term greater(const Term& a, double b);
Term at_least(const Term& a, double b);
Term equal(const Term& a, double b);
Term either(const Term& a, const Term& b);
Term is_nan(const Term& a);
Term is_infinite(const Term& a);
Term where(const Term& condition, const Term& a, const Term& b);
Term where(const Term& condition, double a, const Term& b);
Term where(const Term& condition, const Term& a, double b);

Term cast(const Term& a, ElementType type);
Term to_double(const Term& a);
Term to_single(const Term& a);
Term to_index(const Term& a);
// table[index] along an axis, for every index.
Term gather(const Term& table, const Term& index, std::int64_t axis = 0);

// Shapes are lists of int64. A dimension of 0 means size 0 (allowzero).
Term shape(const Term& a);
Term reshape(const Term& a, const Term& shape);
Term concat(const std::vector<Term>& lists);
Term slice(const Term& a, std::int64_t axis, const Term& begin, const Term& end);
// The elements [begin, end) of the first axis; negative indices count from the end.
Term slice(const Term& list, std::int64_t begin, std::int64_t end);
Term product(const Term& list);  // of all elements, as a list of one
Term transpose(const Term& a, std::vector<std::int64_t> permutation);
// Appends `after` values to an axis.
Term pad(const Term& a, std::int64_t axis, const Term& after, const Term& with);
// "ReduceMax", "ReduceMin" or "ReduceSum" over some axes, or over all if there are none; reduced axes are
// kept with length 1.
Term reduce(std::string_view op, const Term& a, const std::vector<std::int64_t>& axes);

}  // namespace anybit::graph
