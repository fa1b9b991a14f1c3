// Large messages are parsed by hand, field by field, down to the tensors; the fields in between are parsed by
// the generated code, in runs that are merged into the message. By protobuf's definition, merging the parts
// of a message in order equals parsing their concatenation (https://protobuf.dev/programming-guides/encoding,
// "Last One Wins").
#include "io/onnx/split.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <limits>
#include <optional>

#include "base/error.hpp"
#include "io/onnx/wire_check.hpp"

namespace anybit::onnx {
namespace {

using View = std::span<const std::byte>;
using google::protobuf::MessageLite;

constexpr std::size_t kLarge = 4096;  // below this a copy is cheaper than parsing by hand

struct Field {
  std::uint32_t number;
  std::uint32_t wire_type;
  View payload;     // of length-delimited fields
  std::size_t end;  // where the next field begins
};
constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;

std::optional<std::uint64_t> read_varint(View bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(bytes[at++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Empty for groups, which ONNX never had, and for invalid bytes: the generated code handles both.
std::optional<Field> read_field(View bytes, std::size_t at) {
  const auto tag = read_varint(bytes, at);
  if (!tag) return std::nullopt;
  Field field{static_cast<std::uint32_t>(*tag >> 3), static_cast<std::uint32_t>(*tag & 7), {}, at};
  std::uint64_t length = 0;
  switch (field.wire_type) {
    case kVarint:
      if (!read_varint(bytes, at)) return std::nullopt;
      break;
    case kFixed64:
      length = 8;
      break;
    case kFixed32:
      length = 4;
      break;
    case kLength: {
      const auto stated = read_varint(bytes, at);
      if (!stated) return std::nullopt;
      length = *stated;
      break;
    }
    default:
      return std::nullopt;
  }
  if (length > bytes.size() - at) return std::nullopt;
  field.payload = bytes.subspan(at, length);
  field.end = at + length;
  return field;
}

class Splitter {
 public:
  Splitter(const Limits& limits, SetAside& set_aside)
      : recursion_(protobuf_recursion_limit(limits)), set_aside_(set_aside) {}

  template <class Message>
  bool fill(Message& message, View bytes) {
    if (bytes.size() < kLarge) return merge(message, bytes);
    std::size_t run = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto field = read_field(bytes, at);
      if (!field) break;
      if (field->wire_type == kLength && field->payload.size() >= kLarge) {
        if (!merge(message, bytes.subspan(run, at - run))) return false;
        run = at;
        bool entered = false;
        if (!enter(message, static_cast<int>(field->number), field->payload, entered)) return false;
        if (entered) run = field->end;
      }
      at = field->end;
    }
    return merge(message, bytes.subspan(run));
  }

 private:
  bool merge(MessageLite& message, View bytes) const {
    if (bytes.empty()) return true;
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) return false;
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    stream.SetRecursionLimit(recursion_);
    return message.MergePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  }

  template <class Child>
  bool into(Child* child, View payload, bool& entered) {
    entered = true;
    return fill(*child, payload);
  }

  bool enter(wire::Model& model, int number, View payload, bool& entered) {
    switch (number) {
      case wire::Model::kGraphFieldNumber:
        return into(model.mutable_graph(), payload, entered);
      case wire::Model::kFunctionsFieldNumber:
        return into(model.add_functions(), payload, entered);
      case wire::Model::kTrainingInfoFieldNumber:
        return into(model.add_training_info(), payload, entered);
      default:
        return true;
    }
  }
  bool enter(wire::TrainingInfo& training, int number, View payload, bool& entered) {
    switch (number) {
      case wire::TrainingInfo::kInitializationFieldNumber:
        return into(training.mutable_initialization(), payload, entered);
      case wire::TrainingInfo::kAlgorithmFieldNumber:
        return into(training.mutable_algorithm(), payload, entered);
      default:
        return true;
    }
  }
  bool enter(wire::Function& function, int number, View payload, bool& entered) {
    switch (number) {
      case wire::Function::kNodeFieldNumber:
        return into(function.add_node(), payload, entered);
      case wire::Function::kAttributeProtoFieldNumber:
        return into(function.add_attribute_proto(), payload, entered);
      default:
        return true;
    }
  }
  bool enter(wire::Graph& graph, int number, View payload, bool& entered) {
    switch (number) {
      case wire::Graph::kNodeFieldNumber:
        return into(graph.add_node(), payload, entered);
      case wire::Graph::kInitializerFieldNumber:
        return into(graph.add_initializer(), payload, entered);
      case wire::Graph::kSparseInitializerFieldNumber:
        return into(graph.add_sparse_initializer(), payload, entered);
      default:
        return true;
    }
  }
  bool enter(wire::Node& node, int number, View payload, bool& entered) {
    if (number != wire::Node::kAttributeFieldNumber) return true;
    return into(node.add_attribute(), payload, entered);
  }
  bool enter(wire::Attribute& attribute, int number, View payload, bool& entered) {
    switch (number) {
      case wire::Attribute::kTFieldNumber:
        return into(attribute.mutable_t(), payload, entered);
      case wire::Attribute::kGFieldNumber:
        return into(attribute.mutable_g(), payload, entered);
      case wire::Attribute::kTensorsFieldNumber:
        return into(attribute.add_tensors(), payload, entered);
      case wire::Attribute::kGraphsFieldNumber:
        return into(attribute.add_graphs(), payload, entered);
      case wire::Attribute::kSparseTensorFieldNumber:
        return into(attribute.mutable_sparse_tensor(), payload, entered);
      case wire::Attribute::kSparseTensorsFieldNumber:
        return into(attribute.add_sparse_tensors(), payload, entered);
      default:
        return true;
    }
  }
  bool enter(wire::SparseTensor& sparse, int number, View payload, bool& entered) {
    switch (number) {
      case wire::SparseTensor::kValuesFieldNumber:
        return into(sparse.mutable_values(), payload, entered);
      case wire::SparseTensor::kIndicesFieldNumber:
        return into(sparse.mutable_indices(), payload, entered);
      default:
        return true;
    }
  }
  // The last raw_data wins: a small one that follows is set in the message, and has precedence over the one
  // set aside.
  bool enter(wire::Tensor& tensor, int number, View payload, bool& entered) {
    if (number != wire::Tensor::kRawDataFieldNumber) return true;
    tensor.clear_raw_data();
    set_aside_[&tensor] = payload;
    entered = true;
    return true;
  }

  int recursion_;
  SetAside& set_aside_;
};

}  // namespace

Result<void> parse_wire(View bytes, const Limits& limits, wire::Model& model, SetAside& set_aside) {
  if (Splitter(limits, set_aside).fill(model, bytes)) return {};
  return error_at(Code::malformed, {}, "the bytes are not a serialized ONNX model");
}

}  // namespace anybit::onnx
