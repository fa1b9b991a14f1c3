// The schema of ONNX's messages for check_wire(): name and payload of each field.
#pragma once

#include <cstdint>
#include <string_view>

namespace anybit::onnx {

enum class Message : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  value_info,
  tensor,
  sparse_tensor,
  type,
  tensor_type,
  sequence_type,
  map_type,
  optional_type,
  opaque_type,
  shape,
  dimension,
  opset,
  property,
  annotation,
  training,
  function,
};

enum class Payload : std::uint8_t {
  unknown,
  number,          // one number, or a repeated one of fixed width
  packed_varints,  // repeated, so protobuf also accepts a packed run in one record
  packed_fixed32,
  packed_fixed64,
  text,     // string or bytes
  message,  // of type `child`
};

struct Field {
  std::string_view name;
  Payload payload = Payload::unknown;
  Message child = Message::model;
  bool repeated = false;
};

// A Field with payload `unknown` if the message has no such field number.
const Field& field_of(Message message, std::uint32_t number);

}  // namespace anybit::onnx
