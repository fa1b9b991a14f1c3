#include "portable/body.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/error.hpp"
#include "graph/constant.hpp"
#include "graph/node.hpp"

namespace anybit::portable {
namespace {

constexpr std::string_view kOutput = "y";
constexpr std::int64_t kOldestOpset = 13;  // the first with functions' operators in the form used here

std::int64_t first_opset_of(std::string_view op) {
  if (op == "BitwiseAnd" || op == "ReduceMax" || op == "ReduceMin" || op == "ReduceProd" || op == "Pad")
    return 18;                     // the operator itself, or its input `axes`
  if (op == "Reshape") return 14;  // allowzero
  return kOldestOpset;
}

Value binary(std::string_view op, const Value& a, const Value& b) { return a.body().op(op, {a, b}); }
Value binary(std::string_view op, const Value& a, double b) { return binary(op, a, a.body().real(b)); }

}  // namespace

Value Body::input(std::string_view name) {
  function_.inputs.emplace_back(name);
  return {*this, std::string(name)};
}

Value Body::attribute(std::string_view name) {
  function_.attributes.emplace_back(name);
  graph::Attribute one;
  one.name = graph::Text("value_ints");
  one.reference = graph::Text(name);
  one.kind = static_cast<std::int32_t>(graph::AttributeKind::integers);
  return op("Constant", {}, {std::move(one)});
}

template <class T>
Value Body::constant(ElementType type, Integers dims, std::vector<T> data) {
  graph::Tensor tensor = graph::make_tensor({}, type, std::move(dims), std::move(data));
  const std::pair key(*tensor.element, fmt::format("{}:", tensor.dims.size()).append(tensor.data.text()));
  if (const auto found = constants_.find(key); found != constants_.end()) return {*this, found->second};
  Value result = op("Constant", {}, {graph::attribute("value", std::move(tensor))});
  constants_.emplace(key, result.name());
  return result;
}

Value Body::real(double number) { return constant<double>(ElementType::float64, {}, {number}); }
Value Body::reals(const std::vector<double>& numbers) {
  return constant(ElementType::float64, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Value Body::single(float number) { return constant<float>(ElementType::float32, {}, {number}); }
Value Body::singles(const std::vector<float>& numbers) {
  return constant(ElementType::float32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Value Body::integer(std::int64_t number) { return constant<std::int64_t>(ElementType::int64, {}, {number}); }
Value Body::integers(const Integers& numbers) {
  return constant(ElementType::int64, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Value Body::unsigned_integers(const std::vector<std::uint32_t>& numbers) {
  return constant(ElementType::uint32, {static_cast<std::int64_t>(numbers.size())}, numbers);
}
Value Body::bytes(const std::vector<std::uint8_t>& numbers) {
  return constant(ElementType::uint8, {static_cast<std::int64_t>(numbers.size())}, numbers);
}

Value Body::op(std::string_view type, const std::vector<Value>& inputs,
               std::vector<graph::Attribute> attributes) {
  graph::Node& node = function_.nodes.emplace_back();
  node.op_type = graph::Text(type);
  for (const Value& one : inputs) node.inputs.push_back(one.name());
  node.outputs.push_back(fmt::format("made {}", function_.nodes.size()));
  node.attributes = std::move(attributes);
  return {*this, node.outputs.front()};
}

// Compilers differ in the order in which they evaluate a formula, and so in which its nodes were made. In the
// function a node stands behind those that it uses, they in the order of its inputs: the same for everyone.
graph::Function Body::finish(const Value& output) && {
  std::unordered_map<std::string, std::size_t> makers;
  for (std::size_t i = 0; i < function_.nodes.size(); ++i) makers[function_.nodes[i].outputs.front()] = i;
  std::unordered_map<std::string, std::string> names;
  for (const std::string& input : function_.inputs) names[input] = input;
  std::vector<graph::Node> ordered;
  std::int64_t opset = kOldestOpset;
  const std::function<const std::string&(const std::string&)> place =
      [&](const std::string& name) -> const std::string& {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    graph::Node& node = function_.nodes[makers.at(name)];
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
  graph::OpsetImport& import = function_.opsets.emplace_back();
  import.domain = graph::Text("");
  import.version = opset;
  return std::move(function_);
}

Value operator+(const Value& a, const Value& b) { return binary("Add", a, b); }
Value operator-(const Value& a, const Value& b) { return binary("Sub", a, b); }
Value operator*(const Value& a, const Value& b) { return binary("Mul", a, b); }
Value operator/(const Value& a, const Value& b) { return binary("Div", a, b); }
Value operator+(const Value& a, double b) { return binary("Add", a, b); }
Value operator-(const Value& a, double b) { return binary("Sub", a, b); }
Value operator*(const Value& a, double b) { return binary("Mul", a, b); }
Value operator/(const Value& a, double b) { return binary("Div", a, b); }
Value operator-(const Value& a) { return a.body().op("Neg", {a}); }

Value max(const Value& a, const Value& b) { return binary("Max", a, b); }
Value min(const Value& a, const Value& b) { return binary("Min", a, b); }
Value max(const Value& a, double b) { return binary("Max", a, b); }
Value min(const Value& a, double b) { return binary("Min", a, b); }
Value clip(const Value& a, double low, double high) {
  return a.body().op("Clip", {a, a.body().real(low), a.body().real(high)});
}
Value abs(const Value& a) { return a.body().op("Abs", {a}); }
Value floor(const Value& a) { return a.body().op("Floor", {a}); }
Value round(const Value& a) { return a.body().op("Round", {a}); }

Value less(const Value& a, const Value& b) { return binary("Less", a, b); }
Value greater(const Value& a, const Value& b) { return binary("Greater", a, b); }
Value at_least(const Value& a, const Value& b) { return binary("GreaterOrEqual", a, b); }
Value equal(const Value& a, const Value& b) { return binary("Equal", a, b); }
Value less(const Value& a, double b) { return binary("Less", a, b); }
Value greater(const Value& a, double b) { return binary("Greater", a, b); }
Value at_least(const Value& a, double b) { return binary("GreaterOrEqual", a, b); }
Value equal(const Value& a, double b) { return binary("Equal", a, b); }
Value either(const Value& a, const Value& b) { return binary("Or", a, b); }
Value is_nan(const Value& a) { return a.body().op("IsNaN", {a}); }
Value is_infinite(const Value& a) { return a.body().op("IsInf", {a}); }
Value where(const Value& condition, const Value& a, const Value& b) {
  return a.body().op("Where", {condition, a, b});
}
Value where(const Value& condition, double a, const Value& b) {
  return where(condition, b.body().real(a), b);
}
Value where(const Value& condition, const Value& a, double b) {
  return where(condition, a, a.body().real(b));
}

Value cast(const Value& a, ElementType type) {
  return a.body().op("Cast", {a}, {graph::attribute("to", static_cast<std::int64_t>(type))});
}
Value to_double(const Value& a) { return cast(a, ElementType::float64); }
Value to_single(const Value& a) { return cast(a, ElementType::float32); }
Value to_index(const Value& a) { return cast(a, ElementType::int32); }
Value gather(const Value& table, const Value& index, std::int64_t axis) {
  return table.body().op("Gather", {table, index}, {graph::attribute("axis", axis)});
}

Value shape(const Value& a) { return a.body().op("Shape", {a}); }
Value reshape(const Value& a, const Value& shape) {
  return a.body().op("Reshape", {a, shape}, {graph::attribute("allowzero", std::int64_t{1})});
}
Value concat(const std::vector<Value>& lists) {
  return lists.front().body().op("Concat", lists, {graph::attribute("axis", std::int64_t{0})});
}
Value slice(const Value& a, std::int64_t axis, const Value& begin, const Value& end) {
  return a.body().op("Slice", {a, begin, end, a.body().integers({axis})});
}
Value slice(const Value& list, std::int64_t begin, std::int64_t end) {
  return slice(list, 0, list.body().integers({begin}), list.body().integers({end}));
}
Value product(const Value& list) {
  return list.body().op("ReduceProd", {list, list.body().integers({0})},
                        {graph::attribute("keepdims", std::int64_t{1})});
}
Value transpose(const Value& a, std::vector<std::int64_t> permutation) {
  return a.body().op("Transpose", {a}, {graph::attribute("perm", std::move(permutation))});
}
Value pad(const Value& a, std::int64_t axis, const Value& after, const Value& with) {
  Body& body = a.body();
  return body.op("Pad", {a, concat({body.integers({0}), after}), with, body.integers({axis})});
}
Value reduce(std::string_view op, const Value& a, const std::vector<std::int64_t>& axes) {
  std::vector<Value> inputs{a};
  if (!axes.empty()) inputs.push_back(a.body().integers(axes));
  return a.body().op(op, inputs, {graph::attribute("keepdims", std::int64_t{1})});
}

}  // namespace anybit::portable
