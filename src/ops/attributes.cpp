#include "ops/attributes.hpp"

namespace anybit::ops {
namespace {

template <class T>
const T* get(const graph::Attribute* attribute) {
  return attribute ? std::get_if<T>(&attribute->value) : nullptr;
}

// An empty list has no value in a file: only the attribute's kind identifies it.
template <class T>
std::optional<std::span<const T>> list(const graph::Attribute* attribute) {
  if (!attribute) return std::nullopt;
  if (const auto* values = get<std::vector<T>>(attribute)) return std::span<const T>(*values);
  const bool empty = std::holds_alternative<std::monostate>(attribute->value);
  return empty ? std::optional(std::span<const T>()) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> Attributes::integer(std::string_view name) const {
  const auto* number = get<std::int64_t>(find(name));
  return number ? std::optional(*number) : std::nullopt;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  return integer(name).value_or(otherwise);
}

double Attributes::real(std::string_view name, double otherwise) const {
  const auto* number = get<float>(find(name));
  return number ? static_cast<double>(*number) : otherwise;
}

std::string_view Attributes::text(std::string_view name, std::string_view otherwise) const {
  const auto* string = get<std::string>(find(name));
  return string ? std::string_view(*string) : otherwise;
}

std::optional<std::span<const std::int64_t>> Attributes::ints(std::string_view name) const {
  return list<std::int64_t>(find(name));
}

std::optional<std::span<const float>> Attributes::floats(std::string_view name) const {
  return list<float>(find(name));
}

std::optional<std::span<const std::string>> Attributes::texts(std::string_view name) const {
  return list<std::string>(find(name));
}

std::optional<std::vector<std::int64_t>> Attributes::integers(std::string_view name) const {
  const auto values = ints(name);
  return values ? std::optional(std::vector(values->begin(), values->end())) : std::nullopt;
}

std::optional<std::vector<double>> Attributes::reals(std::string_view name) const {
  const auto* values = get<std::vector<float>>(find(name));
  return values ? std::optional(std::vector<double>(values->begin(), values->end())) : std::nullopt;
}

const graph::Tensor* Attributes::tensor(std::string_view name) const {
  return get<graph::Tensor>(find(name));
}

const graph::Graph* Attributes::graph(std::string_view name) const {
  const auto* box = get<graph::GraphBox>(find(name));
  return box ? &**box : nullptr;
}

}  // namespace anybit::ops
