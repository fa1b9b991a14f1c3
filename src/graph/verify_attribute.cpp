// Attributes: one value of the declared kind; references only inside functions.
#include <fmt/format.h>

#include <array>

#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

using Kind = AttributeKind;

// The kind of each alternative of Attribute::Value.
constexpr std::array kAttributeKinds = {
    Kind::undefined, Kind::real,          Kind::integer, Kind::string,         Kind::tensor,
    Kind::graph,     Kind::sparse_tensor, Kind::type,    Kind::reals,          Kind::integers,
    Kind::strings,   Kind::tensors,       Kind::graphs,  Kind::sparse_tensors, Kind::types};
static_assert(kAttributeKinds.size() == std::variant_size_v<AnyAttributeValue>);

constexpr std::array<std::string_view, 15> kNames = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type",  "types"};

// Files written with proto3 leave out zeros, empty strings and empty lists; tensors, graphs and types are
// never left out.
bool may_be_left_out(Kind kind) {
  switch (kind) {
    case Kind::undefined:
    case Kind::tensor:
    case Kind::graph:
    case Kind::sparse_tensor:
    case Kind::type:
      return false;
    default:
      return true;
  }
}

Result<void> check_reference(const Attribute& attribute, const Context& context, const Place& place) {
  if (!context.attributes) {
    return place.invalid(
        fmt::format("refers to {}, but this is not a function", quoted(attribute.reference.str())));
  }
  if (!context.attributes->contains(attribute.reference.str())) {
    return place.invalid(fmt::format("the function has no attribute {}", quoted(attribute.reference.str())));
  }
  if (attribute.value.index() != 0) return place.invalid("has both a value and a reference");
  return {};
}

struct CheckValue {
  const Context& context;
  Scope& scope;
  const Place& place;
  std::int64_t depth;

  Result<void> operator()(const Tensor& tensor) const { return check_tensor(tensor, context.limits, place); }
  Result<void> operator()(const SparseTensor& tensor) const {
    return check_sparse(tensor, context.limits, place);
  }
  Result<void> operator()(const Type& type) const {
    return check_type(type, Known::may, context.limits, place);
  }
  Result<void> operator()(const GraphBox& graph) const {
    return check_graph(*graph, context, scope, place, depth + 1, Role::inner);
  }
  template <class T>
  Result<void> operator()(const std::vector<T>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Place item(&place, "item", {}, i);
      TRY(CheckValue{context, scope, item, depth}(list[i]));
    }
    return {};
  }
  Result<void> operator()(const std::vector<float>&) const { return {}; }
  Result<void> operator()(const std::vector<std::int64_t>&) const { return {}; }
  Result<void> operator()(const std::vector<std::string>&) const { return {}; }
  Result<void> operator()(std::monostate) const { return {}; }
  Result<void> operator()(float) const { return {}; }
  Result<void> operator()(std::int64_t) const { return {}; }
  Result<void> operator()(const std::string&) const { return {}; }
};

}  // namespace

Result<void> check_attribute(const Attribute& attribute, const Context& context, Scope& scope,
                             const Place& place, std::int64_t depth) {
  const std::int32_t declared = attribute.kind.value_or(0);
  if (declared < 0 || declared >= static_cast<std::int32_t>(kNames.size())) {
    return place.invalid(fmt::format("attribute type {} does not exist", declared));
  }
  // ONNX Runtime reads the value of the declared kind and ignores others; they are preserved.
  if (!attribute.others.empty() && declared == 0) {
    return place.invalid("has more than one value", "declare which by the attribute's type");
  }
  for (const Attribute::Value& other : attribute.others) {
    TRY(std::visit(CheckValue{context, scope, place, depth}, other));
  }
  if (!attribute.reference.empty()) return check_reference(attribute, context, place);
  const Kind held = kAttributeKinds[attribute.value.index()];
  const auto kind = static_cast<Kind>(declared);
  if (held == Kind::undefined) {
    if (may_be_left_out(kind)) return {};
    return place.invalid("has no value");
  }
  if (kind != Kind::undefined && kind != held) {
    return place.invalid(fmt::format("declared as {}, but holds {}",
                                     kNames[static_cast<std::size_t>(declared)],
                                     kNames[static_cast<std::size_t>(held)]));
  }
  return std::visit(CheckValue{context, scope, place, depth}, attribute.value);
}

}  // namespace anybit::graph::verifier
