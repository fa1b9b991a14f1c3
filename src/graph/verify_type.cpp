// Types: valid element types, valid dimensions, and agreement of the types declared for one value.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

constexpr std::string_view kKeys = "ONNX allows integers and strings";

bool is_key(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::uint8:
    case ElementType::uint16:
    case ElementType::uint32:
    case ElementType::uint64:
    case ElementType::string:
      return true;
    default:
      return false;
  }
}

// Unknown and named dimensions count as 1: the known ones must be possible by themselves.
Result<void> check_shape(const Shape& shape, const Limits& limits, const Place& place) {
  if (static_cast<std::int64_t>(shape.dims.size()) > limits.rank) {
    return place.limit(fmt::format("rank {}, but at most {} is allowed", shape.dims.size(), limits.rank));
  }
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    const Dimension& dim = shape.dims[i];
    if (!dim.known()) continue;
    if (dim.size() < 0) {
      return place.invalid(fmt::format("dimension {} is {}", i, dim.size()),
                           "leave an unknown dimension out, or give it a name");
    }
    const auto product = checked_mul(count, std::max<std::int64_t>(dim.size(), 1));
    if (!product || *product > limits.elements) {
      return place.limit(fmt::format("a shape of more than {} elements", limits.elements));
    }
    count = *product;
  }
  return {};
}

struct CheckKind {
  Known known;
  const Limits& limits;
  const Place& place;
  std::int64_t depth;

  Result<void> operator()(std::monostate) const {
    if (known == Known::must) return place.invalid("the type is not set");
    return {};
  }
  Result<void> operator()(const TensorType& type) const {
    const std::int32_t element = type.element.value_or(0);
    if (element == 0 ? known == Known::must : !find(type.element_type())) {
      return place.invalid(element == 0 ? "the element type is not set"
                                        : fmt::format("element type {} does not exist", element));
    }
    return type.shape ? check_shape(*type.shape, limits, place) : Result<void>();
  }
  Result<void> operator()(const SequenceType& type) const { return inner(type.element); }
  Result<void> operator()(const OptionalType& type) const { return inner(type.element); }
  Result<void> operator()(const MapType& type) const {
    const std::int32_t key = type.key.value_or(0);
    if (!is_key(static_cast<ElementType>(key))) {
      return place.invalid(
          fmt::format("{} cannot be the key of a map", name_of(static_cast<ElementType>(key))),
          std::string(kKeys));
    }
    return inner(type.value);
  }
  Result<void> operator()(const OpaqueType&) const { return {}; }

 private:
  Result<void> inner(const TypeBox& box) const {
    if (box.get()) return check_type(*box.get(), known, limits, place, depth + 1);
    if (known == Known::must) return place.invalid("the type within the type is not set");
    return {};
  }
};

bool agree(const TensorType& one, const TensorType& other) {
  const std::int32_t a = one.element.value_or(0), b = other.element.value_or(0);
  if (a != 0 && b != 0 && a != b) return false;
  if (!one.shape || !other.shape) return true;
  const auto& dims = one.shape->dims;
  const auto& others = other.shape->dims;
  return std::equal(dims.begin(), dims.end(), others.begin(), others.end(),
                    [](const Dimension& x, const Dimension& y) {
                      return !x.known() || !y.known() || x.size() == y.size();
                    });
}

bool agree(const Type& one, const Type& other);
bool agree(const TypeBox& one, const TypeBox& other) {
  return !one.get() || !other.get() || agree(*one.get(), *other.get());
}

struct Agree {
  const Type& other;

  bool operator()(std::monostate) const { return true; }
  bool operator()(const TensorType& type) const { return agree(type, std::get<TensorType>(other.kind)); }
  bool operator()(const SparseTensorType& type) const {
    return agree(type, static_cast<const TensorType&>(std::get<SparseTensorType>(other.kind)));
  }
  bool operator()(const SequenceType& type) const {
    return agree(type.element, std::get<SequenceType>(other.kind).element);
  }
  bool operator()(const OptionalType& type) const {
    return agree(type.element, std::get<OptionalType>(other.kind).element);
  }
  bool operator()(const MapType& type) const {
    const auto& map = std::get<MapType>(other.kind);
    return type.key.value_or(0) == map.key.value_or(0) && agree(type.value, map.value);
  }
  bool operator()(const OpaqueType& type) const {
    const auto& opaque = std::get<OpaqueType>(other.kind);
    return type.domain.str() == opaque.domain.str() && type.name.str() == opaque.name.str();
  }
};

bool agree(const Type& one, const Type& other) {
  if (one.kind.index() == 0 || other.kind.index() == 0) return true;
  return one.kind.index() == other.kind.index() && std::visit(Agree{other}, one.kind);
}

TensorType dense(std::optional<std::int32_t> element, const std::vector<std::int64_t>& dims) {
  TensorType type;
  type.element = element;
  type.shape.emplace();
  type.shape->dims.resize(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) type.shape->dims[i].value = dims[i];
  return type;
}

}  // namespace

Result<void> check_type(const Type& type, Known known, const Limits& limits, const Place& place,
                        std::int64_t depth) {
  if (depth > limits.depth)
    return place.limit(fmt::format("more than {} levels of nested types", limits.depth));
  return std::visit(CheckKind{known, limits, place, depth}, type.kind);
}

Result<void> check_agree(const Type& one, const Type& other, std::string_view name, const Place& place) {
  if (agree(one, other)) return {};
  return place.invalid(fmt::format("{} is {} here, but {} elsewhere in the graph", quoted(name),
                                   shown(to_string(other)), shown(to_string(one))));
}

std::size_t knowledge(const Type& type) {
  if (type.kind.index() == 0) return 0;
  const TensorType* tensor = type.tensor();
  if (!tensor || !tensor->shape) return 1;
  const auto& dims = tensor->shape->dims;
  const auto known =
      std::count_if(dims.begin(), dims.end(), [](const Dimension& dim) { return dim.known(); });
  return 2 + static_cast<std::size_t>(known);
}

Type type_of(const Tensor& tensor) { return Type(dense(tensor.element, tensor.dims)); }

Type type_of(const SparseTensor& tensor) {
  SparseTensorType type;
  static_cast<TensorType&>(type) = dense(tensor.values ? tensor.values->element : std::nullopt, tensor.dims);
  return Type(type);
}

}  // namespace anybit::graph::verifier
