// Converts the generated messages to a graph::Model. Strings are moved out of the messages, and results are
// filled in place: otherwise most of the time would go into moves.
#pragma once

#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"
#include "io/onnx/external_data.hpp"
#include "io/onnx/onnx.pb.h"
#include "io/onnx/split.hpp"

namespace anybit::onnx {

struct Sources {
  const Bytes& file;  // the parsed bytes; `set_aside` points into them
  const SetAside& set_aside;
  ExternalData& external;
};

Result<graph::Model> take_model(wire::Model& message, const Sources& sources);

// In its own file because tensors have many storage forms.
Result<void> take_tensor(wire::Tensor& message, const Sources& sources, graph::Tensor& tensor);

void take_type(wire::Type& message, graph::Type& type);

// The properties and unknown fields of any message.
graph::Property take_property(wire::StringStringEntry& message);
template <class Messages>
std::vector<graph::Property> take_properties(Messages* messages) {
  std::vector<graph::Property> properties;
  properties.reserve(static_cast<std::size_t>(messages->size()));
  for (auto& message : *messages) properties.push_back(take_property(message));
  return properties;
}
template <class Message>
graph::Extra take_extra(const Message& message) {
  return message.unknown_fields().empty() ? graph::Extra() : graph::Extra(message.unknown_fields());
}

}  // namespace anybit::onnx

// A field of a message as a Text or an optional; presence is preserved.
#define ANYBIT_TAKE_TEXT(message, field) \
  ((message).has_##field() ? graph::Text(std::move(*(message).mutable_##field())) : graph::Text())
#define ANYBIT_TAKE_NUMBER(message, field) \
  ((message).has_##field() ? std::optional((message).field()) : std::nullopt)
