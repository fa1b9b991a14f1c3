#include "ops/raise.hpp"

#include "graph/constant.hpp"
#include "ops/number.hpp"

namespace anybit::ops {

using graph::AttributeKind;

const Value& Raising::in(std::size_t i) const {
  static const Value unknown;
  return i < inputs_.size() ? inputs_[i] : unknown;
}

void Raising::set(std::string_view name, graph::Attribute::Value value) {
  remove(name);
  edited.attributes.push_back(graph::attribute(name, std::move(value)));
}

void Raising::remove(std::string_view name) { graph::remove_attribute(edited, name); }

void Raising::set_input(std::size_t i, std::string name) {
  if (edited.inputs.size() <= i) edited.inputs.resize(i + 1);
  edited.inputs[i] = std::move(name);
}

std::string Raising::add_before(std::string_view op_type, std::vector<std::string> inputs,
                                std::vector<graph::Attribute> attributes) {
  before.push_back(
      graph::make_node(op_type, std::move(inputs), {names_.numbered("raised")}, std::move(attributes)));
  return before.back().outputs[0];
}

std::string Raising::constant(std::span<const std::int64_t> elements) {
  graph::Tensor tensor =
      graph::make_tensor({}, ElementType::int64, {static_cast<std::int64_t>(elements.size())},
                         std::vector(elements.begin(), elements.end()));
  return add_before("Constant", {}, {graph::attribute("value", std::move(tensor))});
}

std::string Raising::constant(float element, ElementType type) {
  graph::Tensor tensor;
  if (!for_real(type, [&]<class T>(T) {
        tensor = graph::make_tensor({}, type, {}, std::vector<T>{static_cast<T>(element)});
      })) {
    for_integer(type, [&]<class T>(T) {
      tensor = graph::make_tensor({}, type, {}, std::vector<T>{static_cast<T>(element)});
    });
  }
  if (!tensor.element) tensor = graph::make_tensor({}, ElementType::float32, {}, std::vector<float>{element});
  const bool unsure = tensor.type() != type;
  std::string name = add_before("Constant", {}, {graph::attribute("value", std::move(tensor))});
  constexpr std::int64_t kCastLike = 15;
  return unsure && target >= kCastLike ? add_before("CastLike", {std::move(name), edited.inputs[0]}) : name;
}

std::string Raising::constant(std::span<const float> elements) {
  graph::Tensor tensor =
      graph::make_tensor({}, ElementType::float32, {static_cast<std::int64_t>(elements.size())},
                         std::vector(elements.begin(), elements.end()));
  return add_before("Constant", {}, {graph::attribute("value", std::move(tensor))});
}

void Raising::wrap_output(std::size_t i, std::string_view op_type, std::vector<std::string> inputs,
                          std::vector<graph::Attribute> attributes) {
  std::string inside = names_.numbered("raised");
  inputs.insert(inputs.begin(), inside);
  after.push_back(graph::make_node(op_type, std::move(inputs), {edited.outputs[i]}, std::move(attributes)));
  edited.outputs[i] = std::move(inside);
}

// A Constant node whose value refers to the function's attribute.
std::string Raising::reference(std::string_view name, std::string_view as, AttributeKind kind) {
  graph::Attribute made = graph::attribute(as, {});
  made.kind = static_cast<std::int32_t>(kind);
  made.reference = find(name)->reference;
  remove(name);
  return add_before("Constant", {}, {std::move(made)});
}

Result<bool> Raising::real_to_input(std::string_view name, std::size_t i) {
  if (!has_attribute(name)) return false;
  if (refers(name)) {
    set_input(
        i, add_before("CastLike", {reference(name, "value_float", AttributeKind::real), edited.inputs[0]}));
    return true;
  }
  const auto value = static_cast<float>(real(name, 0));
  remove(name);
  set_input(i, constant(value, in(0).type));
  return true;
}

Result<bool> Raising::integers_to_input(std::string_view name, std::size_t i) {
  if (!has_attribute(name)) return false;
  if (refers(name)) {
    set_input(i, reference(name, "value_ints", AttributeKind::integers));
    return true;
  }
  const auto list = integers(name);
  if (!list) return wrong(fmt::format("attribute '{}' is no list of integers", name));
  remove(name);
  set_input(i, constant(*list));
  return true;
}

Result<bool> Raising::reals_to_input(std::string_view name, std::size_t i) {
  if (!has_attribute(name)) return false;
  if (refers(name)) {
    set_input(i, reference(name, "value_floats", AttributeKind::reals));
    return true;
  }
  const auto list = floats(name);
  if (!list) return wrong(fmt::format("attribute '{}' is no list of numbers", name));
  std::string made = constant(*list);
  remove(name);
  set_input(i, std::move(made));
  return true;
}

Result<bool> Raising::integer_to_input(std::string_view name, std::size_t i) {
  if (!has_attribute(name)) return false;
  if (refers(name)) {
    set_input(i, reference(name, "value_int", AttributeKind::integer));
    return true;
  }
  const auto value = integer(name);
  if (!value) return wrong(fmt::format("attribute '{}' is no integer", name));
  remove(name);
  graph::Tensor tensor = graph::make_tensor({}, ElementType::int64, {}, std::vector<std::int64_t>{*value});
  set_input(i, add_before("Constant", {}, {graph::attribute("value", std::move(tensor))}));
  return true;
}

Result<bool> Raising::integer_to_list_input(std::string_view name, std::size_t i) {
  if (!has_attribute(name)) return false;
  constexpr std::int64_t kOne[] = {1};
  if (refers(name)) {
    const std::string shape = constant(kOne);
    set_input(i, add_before("Reshape", {reference(name, "value_int", AttributeKind::integer), shape}));
    return true;
  }
  const auto value = integer(name);
  if (!value) return wrong(fmt::format("attribute '{}' is no integer", name));
  remove(name);
  set_input(i, constant(std::span(&*value, 1)));
  return true;
}

Result<void> raise_axes_to_input(Raising& raising) {
  // An empty list of axes meant all axes; so does an omitted input.
  if (raising.has_attribute("axes") && !raising.refers("axes") && raising.ints("axes") &&
      raising.ints("axes")->empty()) {
    raising.remove("axes");
  }
  TRY(raising.integers_to_input("axes", 1));
  return {};
}

}  // namespace anybit::ops
