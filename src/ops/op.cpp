#include "ops/op.hpp"

#include <cmath>

namespace anybit::ops {
namespace {

// Integers up to this size are exact in float32; beyond it, arithmetic on them would round.
constexpr double kExactInFloat = 16777216.0;

// nullopt if an element is not an integer: then these are weights, not sizes.
template <class T>
std::optional<std::vector<Dim>> integer_dims(const Bytes& data, std::size_t count) {
  std::vector<Dim> list;
  for (std::size_t i = 0; i < count; ++i) {
    const T element = data.at<T>(i);
    if constexpr (std::is_floating_point_v<T>) {
      const bool integer =
          std::abs(element) <= static_cast<T>(kExactInFloat) && std::trunc(element) == element;
      if (!integer) return std::nullopt;
    }
    if (i == 0) list.reserve(count);
    list.emplace_back(static_cast<std::int64_t>(element));
  }
  return list;
}

std::optional<std::vector<Dim>> contents(const graph::Tensor& constant, std::size_t count) {
  switch (constant.type()) {
    case ElementType::int64:
      return integer_dims<std::int64_t>(constant.data, count);
    case ElementType::int32:
      return integer_dims<std::int32_t>(constant.data, count);
    case ElementType::int8:
      return integer_dims<std::int8_t>(constant.data, count);
    case ElementType::uint8:
    case ElementType::boolean:
      return integer_dims<std::uint8_t>(constant.data, count);
    case ElementType::float32:
      return integer_dims<float>(constant.data, count);
    case ElementType::float64:
      return integer_dims<double>(constant.data, count);
    default:
      return std::nullopt;
  }
}

}  // namespace

ANYBIT_DEFINE_VALUE(Value);

Value tensor(ElementType type, std::optional<Shape> shape) {
  Value value;
  value.type = type;
  value.shape = std::move(shape);
  return value;
}

Value without_contents(const Value& value) {
  Value result = tensor(value.type, value.shape);
  result.holder = value.holder;
  result.held = value.held;
  return result;
}

Value sequence_of(const Value& item) {
  Value value;
  value.holder = Holder::sequence;
  value.held = std::make_shared<const Value>(tensor(item.type, std::nullopt));
  return value;
}

Value optional_of(const Value& held) {
  Value value;
  value.holder = Holder::optional;
  value.held = std::make_shared<const Value>(without_contents(held));
  return value;
}

Value held_by(const Value& value) { return value.held ? *value.held : Value(); }

bool types_agree(const Value& one, const Value& other) {
  const auto known = [](const Value& value) {
    return value.holder != Holder::none || value.type != ElementType::undefined;
  };
  if (!known(one) || !known(other)) return true;
  if (one.holder != other.holder || one.type != other.type) return false;
  return !one.held || !other.held || types_agree(*one.held, *other.held);
}

std::string to_string(const Value& value) {
  if (value.holder != Holder::none) {
    return fmt::format("{}({})", value.holder == Holder::sequence ? "seq" : "optional",
                       to_string(held_by(value)));
  }
  return name_of(value.type) + (value.shape ? fmt::format("[{}]", to_string(*value.shape)) : std::string());
}

Value value_of(const graph::Tensor& constant) {
  Value value = tensor(constant.type(), Shape(constant.dims.begin(), constant.dims.end()));
  value.constant = &constant;
  const std::int64_t count = constant.count();
  if (count <= kFollowed) value.elements = contents(constant, static_cast<std::size_t>(count));
  return value;
}

Value int64_vector(std::vector<Dim> elements) {
  Value value = tensor(ElementType::int64, Shape{static_cast<std::int64_t>(elements.size())});
  if (static_cast<std::int64_t>(elements.size()) <= kFollowed) value.elements = std::move(elements);
  return value;
}

std::optional<std::vector<double>> reals(const Value& value) {
  if (!value.constant || value.constant->count() > kFollowed) return std::nullopt;
  const graph::Tensor& constant = *value.constant;
  std::vector<double> list;
  for (std::size_t i = 0; i < static_cast<std::size_t>(constant.count()); ++i) {
    if (constant.type() == ElementType::float32) {
      list.push_back(static_cast<double>(constant.data.at<float>(i)));
    } else if (constant.type() == ElementType::float64) {
      list.push_back(constant.data.at<double>(i));
    } else {
      return std::nullopt;
    }
  }
  return list;
}

const Value& Call::in(std::size_t i) const {
  static const Value unknown;
  return i < inputs.size() ? *inputs[i] : unknown;
}

std::optional<std::vector<Dim>> Call::list(std::size_t i, std::string_view name) const {
  if (has(i)) return in(i).elements;
  const auto attribute = integers(name);
  if (!attribute) return std::nullopt;
  return std::vector<Dim>(attribute->begin(), attribute->end());
}

Error wrong(std::string message, std::string hint) {
  return invalid_model({}, std::move(message), std::move(hint));
}

}  // namespace anybit::ops
