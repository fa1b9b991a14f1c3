#include "graph/function_body.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/error.hpp"
#include "graph/constant.hpp"
#include "graph/node.hpp"

namespace anybit::graph {
namespace {

constexpr std::string_view kOutput = "y";
constexpr std::int64_t kOldestOpset = 13;  // the first opset with these operators in the form used here

std::int64_t first_opset_of(std::string_view op) {
  if (op == "BitwiseAnd" || op == "ReduceMax" || op == "ReduceMin" || op == "ReduceProd" || op == "Pad")
    return 18;                     // the operator itself, or its input `axes`
  if (op == "Reshape") return 14;  // allowzero
  return kOldestOpset;
}

Term binary(std::string_view op, const Term& a, const Term& b) { return a.body().op(op, {a, b}); }
Term binary(std::string_view op, const Term& a, double b) { return binary(op, a, a.body().real(b)); }

}  // namespace

Term FunctionBody::input(std::string_view name) {
  function_.inputs.emplace_back(name);
  return {*this, std::string(name)};
}

Term FunctionBody::attribute(std::string_view name) {
  function_.attributes.emplace_back(name);
  Attribute one;
  one.name = Text("value_ints");
  one.reference = Text(name);
  one.kind = static_cast<std::int32_t>(AttributeKind::integers);
  return op("Constant", {}, {std::move(one)});
}

template <class T>
Term FunctionBody::constant(ElementType type, Integers dims, std::vector<T> data) {
  Tensor tensor = make_tensor({}, type, std::move(dims), std::move(data));
  const std::pair key(*tensor.element, fmt::format("{}:", tensor.dims.size()).append(tensor.data.text()));
  if (const auto found = constants_.find(key); found != constants_.end()) return {*this, found->second};
  Term result = op("Constant", {}, {graph::attribute("value", std::move(tensor))});
  constants_.emplace(key, result.name());
  return result;
}

Term FunctionBody::real(double number) { return constant<double>(ElementType::float64, {}, {number}); }
Term FunctionBody::reals(const std::vector<double>& numbers) {
  return constant(ElementType::float64, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Term FunctionBody::single(float number) { return constant<float>(ElementType::float32, {}, {number}); }
Term FunctionBody::singles(const std::vector<float>& numbers) {
  return constant(ElementType::float32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Term FunctionBody::integer(std::int64_t number) {
  return constant<std::int64_t>(ElementType::int64, {}, {number});
}
Term FunctionBody::integers(const Integers& numbers) {
  return constant(ElementType::int64, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Term FunctionBody::unsigned_integers(const std::vector<std::uint32_t>& numbers) {
  return constant(ElementType::uint32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Term FunctionBody::bytes(const std::vector<std::uint8_t>& numbers) {
  return constant(ElementType::uint8, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

Term FunctionBody::op(std::string_view type, const std::vector<Term>& inputs,
                      std::vector<Attribute> attributes) {
  std::vector<std::string> names;
  for (const Term& one : inputs) names.push_back(one.name());
  std::string made = fmt::format("made {}", function_.nodes.size() + 1);
  function_.nodes.push_back(make_node(type, std::move(names), {made}, std::move(attributes)));
  return {*this, std::move(made)};
}

// Compilers evaluate the operands of a formula in different orders, so nodes are created in different orders.
// The function's nodes are sorted depth first along their inputs, which gives the same order everywhere.
Function FunctionBody::finish(const Term& output) && {
  std::unordered_map<std::string, std::size_t> makers;
  for (std::size_t i = 0; i < function_.nodes.size(); ++i) makers[function_.nodes[i].outputs.front()] = i;
  std::unordered_map<std::string, std::string> names;
  for (const std::string& input : function_.inputs) names[input] = input;
  std::vector<Node> ordered;
  std::int64_t opset = kOldestOpset;
  const std::function<const std::string&(const std::string&)> place =
      [&](const std::string& name) -> const std::string& {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    Node& node = function_.nodes[makers.at(name)];
    for (std::string& input : node.inputs) input = place(input);
    opset = std::max(opset, first_opset_of(node.op_type.str()));
    node.outputs.front() =
        name == output.name() ? std::string(kOutput) : fmt::format("v{}", ordered.size() + 1);
    ordered.push_back(std::move(node));
    return names[name] = ordered.back().outputs.front();
  };
  place(output.name());
  function_.nodes = std::move(ordered);
  function_.outputs.emplace_back(kOutput);
  OpsetImport& import = function_.opsets.emplace_back();
  import.domain = Text("");
  import.version = opset;
  return std::move(function_);
}

Term operator+(const Term& a, const Term& b) { return binary("Add", a, b); }
Term operator-(const Term& a, const Term& b) { return binary("Sub", a, b); }
Term operator*(const Term& a, const Term& b) { return binary("Mul", a, b); }
Term operator/(const Term& a, const Term& b) { return binary("Div", a, b); }
Term operator+(const Term& a, double b) { return binary("Add", a, b); }
Term operator-(const Term& a, double b) { return binary("Sub", a, b); }
Term operator*(const Term& a, double b) { return binary("Mul", a, b); }
Term operator/(const Term& a, double b) { return binary("Div", a, b); }
Term operator-(const Term& a) { return a.body().op("Neg", {a}); }

Term max(const Term& a, const Term& b) { return binary("Max", a, b); }
Term min(const Term& a, const Term& b) { return binary("Min", a, b); }
Term max(const Term& a, double b) { return binary("Max", a, b); }
Term min(const Term& a, double b) { return binary("Min", a, b); }
Term clip(const Term& a, double low, double high) {
  return a.body().op("Clip", {a, a.body().real(low), a.body().real(high)});
}
Term abs(const Term& a) { return a.body().op("Abs", {a}); }
Term floor(const Term& a) { return a.body().op("Floor", {a}); }
Term round(const Term& a) { return a.body().op("Round", {a}); }

Term less(const Term& a, const Term& b) { return binary("Less", a, b); }
Term greater(const Term& a, const Term& b) { return binary("Greater", a, b); }
Term at_least(const Term& a, const Term& b) { return binary("GreaterOrEqual", a, b); }
Term equal(const Term& a, const Term& b) { return binary("Equal", a, b); }
Term less(const Term& a, double b) { return binary("Less", a, b); }
Term greater(const Term& a, double b) { return binary("Greater", a, b); }
Term at_least(const Term& a, double b) { return binary("GreaterOrEqual", a, b); }
Term equal(const Term& a, double b) { return binary("Equal", a, b); }
Term either(const Term& a, const Term& b) { return binary("Or", a, b); }
Term is_nan(const Term& a) { return a.body().op("IsNaN", {a}); }
Term is_infinite(const Term& a) { return a.body().op("IsInf", {a}); }
Term where(const Term& condition, const Term& a, const Term& b) {
  return a.body().op("Where", {condition, a, b});
}
Term where(const Term& condition, double a, const Term& b) { return where(condition, b.body().real(a), b); }
Term where(const Term& condition, const Term& a, double b) { return where(condition, a, a.body().real(b)); }

Term cast(const Term& a, ElementType type) {
  return a.body().op("Cast", {a}, {attribute("to", static_cast<std::int64_t>(type))});
}
Term to_double(const Term& a) { return cast(a, ElementType::float64); }
Term to_single(const Term& a) { return cast(a, ElementType::float32); }
Term to_index(const Term& a) { return cast(a, ElementType::int32); }
Term gather(const Term& table, const Term& index, std::int64_t axis) {
  return table.body().op("Gather", {table, index}, {attribute("axis", axis)});
}

Term shape(const Term& a) { return a.body().op("Shape", {a}); }
Term reshape(const Term& a, const Term& shape) {
  return a.body().op("Reshape", {a, shape}, {attribute("allowzero", std::int64_t{1})});
}
Term concat(const std::vector<Term>& lists) {
  return lists.front().body().op("Concat", lists, {attribute("axis", std::int64_t{0})});
}
Term slice(const Term& a, std::int64_t axis, const Term& begin, const Term& end) {
  return a.body().op("Slice", {a, begin, end, a.body().integers({axis})});
}
Term slice(const Term& list, std::int64_t begin, std::int64_t end) {
  return slice(list, 0, list.body().integers({begin}), list.body().integers({end}));
}
Term product(const Term& list) {
  return list.body().op("ReduceProd", {list, list.body().integers({0})},
                        {attribute("keepdims", std::int64_t{1})});
}
Term transpose(const Term& a, std::vector<std::int64_t> permutation) {
  return a.body().op("Transpose", {a}, {attribute("perm", std::move(permutation))});
}
Term pad(const Term& a, std::int64_t axis, const Term& after, const Term& with) {
  FunctionBody& body = a.body();
  return body.op("Pad", {a, concat({body.integers({0}), after}), with, body.integers({axis})});
}
Term reduce(std::string_view op, const Term& a, const std::vector<std::int64_t>& axes) {
  std::vector<Term> inputs{a};
  if (!axes.empty()) inputs.push_back(a.body().integers(axes));
  return a.body().op(op, inputs, {attribute("keepdims", std::int64_t{1})});
}

}  // namespace anybit::graph
