// Writes protobuf's wire format by hand, for files that no protobuf library writes.
#pragma once

#include <cstdint>
#include <string>

namespace anybit::onnx::testing {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes + static_cast<char>(value);
}
inline std::string tag(std::uint32_t number, std::uint32_t wire_type) {
  return varint(number << 3 | wire_type);
}
inline std::string number(std::uint32_t field, std::uint64_t value) { return tag(field, 0) + varint(value); }
inline std::string block(std::uint32_t field, const std::string& payload) {
  return tag(field, 2) + varint(payload.size()) + payload;
}

}  // namespace anybit::onnx::testing
