// ONNX's own format: a protobuf message, with external data files if it is large.
#include "io/table.hpp"

#include "io/onnx/load.hpp"
#include "io/onnx/save.hpp"

namespace anybit::io {
namespace {

// Protobuf has no signature: a file begins with a tag, which is a field number and a wire type. Fields that
// are unknown today may come first.
Claim probe(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Claim::no;
  const auto tag = static_cast<unsigned>(bytes[0]);
  const unsigned encoding = tag % 8, number = tag / 8;
  const bool is_tag = number != 0 && encoding != 4 && encoding != 6 && encoding != 7;
  return is_tag ? Claim::maybe : Claim::no;
}

}  // namespace

std::span<const Descriptor> onnx_descriptors() {
  static const Descriptor all[] = {
      {.name = "ONNX", .extension = ".onnx", .probe = probe, .read = onnx::parse, .save = onnx::save}};
  return all;
}

}  // namespace anybit::io
