#include "ops/gradient.hpp"

namespace anybit::ops {

Result<void> gradient_unchanged(Gradient& gradient) {
  gradient.set(0, gradient.dy());
  return {};
}

Result<void> gradient_reshaped(Gradient& gradient) {
  // allowzero: a 0 in the shape is a size.
  gradient.set(0, gradient.add("Reshape", {gradient.dy(), gradient.shape(gradient.input(0))},
                               {graph::attribute("allowzero", std::int64_t{1})}));
  return {};
}

Result<void> gradient_by_input(Gradient& gradient, std::string_view op_type) {
  gradient.set(
      0, gradient.add(op_type, {gradient.dy(), gradient.input(0)}, gradient.node.attributes, kTraining));
  return {};
}

Result<void> gradient_by_output(Gradient& gradient, std::string_view op_type) {
  gradient.set(
      0, gradient.add(op_type, {gradient.dy(), gradient.output()}, gradient.node.attributes, kTraining));
  return {};
}

Gradient::NodeAttributes attributes_of(const Gradient& gradient,
                                       std::initializer_list<std::string_view> names) {
  Gradient::NodeAttributes found;
  for (const std::string_view name : names) {
    if (const graph::Attribute* one = gradient.find(name)) found.push_back(*one);
  }
  return found;
}

std::string in_type_of(Gradient& gradient, const std::string& value, const Value& like) {
  if (gradient.facts(value).type == like.type) return value;
  return gradient.add("Cast", {value}, {graph::attribute("to", static_cast<std::int64_t>(like.type))});
}

std::string as_numbers(Gradient& gradient, const std::string& condition) {
  return in_type_of(gradient, condition, gradient.in(0));
}

std::string only_where(Gradient& gradient, const std::string& condition, const std::string& value) {
  return gradient.add("Where", {condition, value, gradient.number(0)});
}

}  // namespace anybit::ops
