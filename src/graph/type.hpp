// Types of values: tensor, sparse tensor, sequence, map, optional, opaque.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/value.hpp"
#include "graph/element_type.hpp"
#include "graph/text.hpp"

namespace anybit::graph {

struct Dimension {
  std::variant<std::monostate, std::int64_t, std::string> value;  // unknown, a number, or a symbol
  Text denotation;
  Extra extra;

  bool known() const { return std::holds_alternative<std::int64_t>(value); }
  std::int64_t size() const { return std::get<std::int64_t>(value); }
};

struct Shape {
  std::vector<Dimension> dims;
  Extra extra;
};

struct Type;

// A type inside a type, copied with it.
class TypeBox {
 public:
  TypeBox() = default;
  TypeBox(Type type);
  TypeBox(const TypeBox& other);
  TypeBox(TypeBox&&) noexcept;
  TypeBox& operator=(TypeBox other) noexcept;
  ~TypeBox();
  const Type* get() const { return type_.get(); }
  Type* get() { return type_.get(); }

 private:
  std::unique_ptr<Type> type_;
};

struct TensorType {
  std::optional<std::int32_t> element;  // ONNX's number; kept even if unknown (the verifier rejects it)
  std::optional<Shape> shape;
  Extra extra;
  ElementType element_type() const { return static_cast<ElementType>(element.value_or(0)); }
};
struct SparseTensorType : TensorType {};
struct SequenceType {
  TypeBox element;
  Extra extra;
};
struct OptionalType {
  TypeBox element;
  Extra extra;
};
struct MapType {
  std::optional<std::int32_t> key;
  TypeBox value;
  Extra extra;
};
struct OpaqueType {
  Text domain, name;
  Extra extra;
};

struct Type {
  using Kind = std::variant<std::monostate, TensorType, SparseTensorType, SequenceType, OptionalType, MapType,
                            OpaqueType>;
  ANYBIT_VALUE(Type);
  explicit Type(Kind kind);

  Kind kind;
  Text denotation;
  Extra extra;

  const TensorType* tensor() const { return std::get_if<TensorType>(&kind); }
};

// "float32[1, 3, height, ?]", "seq(int64[])": for tables and messages.
std::string to_string(const Type& type);

}  // namespace anybit::graph
