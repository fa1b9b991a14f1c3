// TypeProto to graph::Type.
#include "io/onnx/from_wire.hpp"

namespace anybit::onnx {
namespace {

void take_dimension(wire::TensorShape::Dimension& message, graph::Dimension& dim) {
  if (message.has_dim_value()) dim.value = message.dim_value();
  if (message.has_dim_param()) dim.value = std::move(*message.mutable_dim_param());
  dim.denotation = ANYBIT_TAKE_TEXT(message, denotation);
  dim.extra = take_extra(message);
}

void take_shape(wire::TensorShape& message, graph::Shape& shape) {
  shape.dims.resize(static_cast<std::size_t>(message.dim_size()));
  for (int i = 0; i < message.dim_size(); ++i) {
    take_dimension(*message.mutable_dim(i), shape.dims[static_cast<std::size_t>(i)]);
  }
  shape.extra = take_extra(message);
}

template <class Message>
void take_tensor_type(Message& message, graph::TensorType& type) {
  type.element = ANYBIT_TAKE_NUMBER(message, elem_type);
  if (message.has_shape()) take_shape(*message.mutable_shape(), type.shape.emplace());
  type.extra = take_extra(message);
}

graph::TypeBox take_inner(wire::Type& message) {
  graph::Type type;
  take_type(message, type);
  return type;
}

template <class To, class Message>
To take_element_type(Message& message) {
  To type;
  if (message.has_elem_type()) type.element = take_inner(*message.mutable_elem_type());
  type.extra = take_extra(message);
  return type;
}

graph::MapType take_map_type(wire::Type::Map& message) {
  graph::MapType type;
  type.key = ANYBIT_TAKE_NUMBER(message, key_type);
  if (message.has_value_type()) type.value = take_inner(*message.mutable_value_type());
  type.extra = take_extra(message);
  return type;
}

graph::OpaqueType take_opaque_type(wire::Type::Opaque& message) {
  graph::OpaqueType type;
  type.domain = ANYBIT_TAKE_TEXT(message, domain);
  type.name = ANYBIT_TAKE_TEXT(message, name);
  type.extra = take_extra(message);
  return type;
}

}  // namespace

void take_type(wire::Type& message, graph::Type& type) {
  switch (message.value_case()) {
    case wire::Type::VALUE_NOT_SET:
      break;
    case wire::Type::kTensorType:
      take_tensor_type(*message.mutable_tensor_type(), type.kind.emplace<graph::TensorType>());
      break;
    case wire::Type::kSparseTensorType:
      take_tensor_type(*message.mutable_sparse_tensor_type(), type.kind.emplace<graph::SparseTensorType>());
      break;
    case wire::Type::kSequenceType:
      type.kind = take_element_type<graph::SequenceType>(*message.mutable_sequence_type());
      break;
    case wire::Type::kOptionalType:
      type.kind = take_element_type<graph::OptionalType>(*message.mutable_optional_type());
      break;
    case wire::Type::kMapType:
      type.kind = take_map_type(*message.mutable_map_type());
      break;
    case wire::Type::kOpaqueType:
      type.kind = take_opaque_type(*message.mutable_opaque_type());
      break;
  }
  type.denotation = ANYBIT_TAKE_TEXT(message, denotation);
  type.extra = take_extra(message);
}

}  // namespace anybit::onnx
