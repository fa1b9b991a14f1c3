// What check_wire() knows of ONNX's messages: for each field its name and how its payload is made.
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
  packed_varints,  // repeated, so that protobuf also takes a run of them in one record
  packed_fixed32,
  packed_fixed64,
  text,     // string or bytes
  message,  // of the kind `child`
};

struct Field {
  std::string_view name;
  Payload payload = Payload::unknown;
  Message child = Message::model;
  bool repeated = false;
};

// An empty field of payload `unknown` for numbers that the message does not have.
const Field& field_of(Message message, std::uint32_t number);

}  // namespace anybit::onnx
