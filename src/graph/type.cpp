#include "graph/type.hpp"

#include <fmt/format.h>

namespace anybit::graph {
namespace {

std::string to_string(const Dimension& dim) {
  if (dim.known()) return fmt::format("{}", dim.size());
  if (const auto* name = std::get_if<std::string>(&dim.value)) return *name;
  return "?";
}

// An unknown rank is "[…]"; "[]" is the shape of a scalar.
std::string to_string(const TensorType& type) {
  std::string text = name_of(type.element_type());
  if (!type.shape) return text + "[…]";
  text += '[';
  for (std::size_t i = 0; i < type.shape->dims.size(); ++i) {
    if (i != 0) text += ", ";
    text += to_string(type.shape->dims[i]);
  }
  return text + ']';
}

std::string to_string(const TypeBox& box) { return box.get() ? to_string(*box.get()) : "?"; }

struct Spell {
  std::string operator()(std::monostate) const { return "?"; }
  std::string operator()(const TensorType& type) const { return to_string(type); }
  std::string operator()(const SparseTensorType& type) const {
    return fmt::format("sparse({})", to_string(static_cast<const TensorType&>(type)));
  }
  std::string operator()(const SequenceType& type) const {
    return fmt::format("seq({})", to_string(type.element));
  }
  std::string operator()(const OptionalType& type) const {
    return fmt::format("optional({})", to_string(type.element));
  }
  std::string operator()(const MapType& type) const {
    const auto key = static_cast<ElementType>(type.key.value_or(0));
    return fmt::format("map({}, {})", name_of(key), to_string(type.value));
  }
  std::string operator()(const OpaqueType& type) const {
    return fmt::format("opaque({}{}{})", type.domain.str(), type.domain.empty() ? "" : ".", type.name.str());
  }
};

}  // namespace

ANYBIT_DEFINE_VALUE(Type);
Type::Type(Kind kind) : kind(std::move(kind)) {}

TypeBox::TypeBox(Type type) : type_(std::make_unique<Type>(std::move(type))) {}
TypeBox::TypeBox(const TypeBox& other)
    : type_(other.type_ ? std::make_unique<Type>(*other.type_) : nullptr) {}
TypeBox::TypeBox(TypeBox&&) noexcept = default;
TypeBox& TypeBox::operator=(TypeBox other) noexcept {
  type_ = std::move(other.type_);
  return *this;
}
TypeBox::~TypeBox() = default;

std::string to_string(const Type& type) { return std::visit(Spell{}, type.kind); }

}  // namespace anybit::graph
