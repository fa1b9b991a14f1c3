// The bytes become the attribute of a Constant in a minimal model, so they pass every check for tensors of a
// model.
#include "io/onnx/tensor_file.hpp"

#include "base/error.hpp"
#include "base/try.hpp"
#include "io/onnx/encoder.hpp"
#include "io/onnx/load.hpp"

namespace anybit::onnx {
namespace {

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string field(int number, std::string_view content) {
  return varint(tag(number, WireType::length)) + varint(content.size()) + std::string(content);
}

std::string field(int number, std::uint64_t value) {
  return varint(tag(number, WireType::varint)) + varint(value);
}

// Field numbers of onnx.proto.
std::string model_around(std::string_view tensor) {
  const std::string attribute = field(1, "value") + field(5, tensor) + field(20, 4);
  const std::string node = field(2, "value") + field(4, "Constant") + field(5, attribute);
  const std::string graph = field(1, node) + field(2, "tensor");
  return field(1, 13) + field(8, field(2, 25)) + field(7, graph);
}

}  // namespace

Result<graph::Tensor> parse_tensor(const Bytes& bytes, const Limits& limits) {
  graph::Model model = TRY(parse(Bytes::own(model_around(bytes.text())), {}, {.limits = limits}));
  const bool whole =
      model.graph && model.graph->nodes.size() == 1 && model.graph->nodes[0].attributes.size() == 1;
  auto* tensor = whole ? std::get_if<graph::Tensor>(&model.graph->nodes[0].attributes[0].value) : nullptr;
  if (!tensor) return error_at(Code::malformed, {}, "not a TensorProto");
  return std::move(*tensor);
}

}  // namespace anybit::onnx
