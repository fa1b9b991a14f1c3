// Checks the bytes of an ONNX file before protobuf parses them, to bound protobuf's memory: an empty message
// of two bytes takes about two hundred bytes in memory, and nested messages take stack. Encoding:
// protobuf.dev/programming-guides/encoding; messages: src/io/onnx/onnx.proto.
#pragma once

#include <cstddef>
#include <span>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"

namespace anybit::onnx {

// Payloads are skipped, not read, so a gigabyte of weights takes no time. A field with an unexpected wire
// type passes: protobuf keeps it among the unknown fields.
Result<void> check_wire(std::span<const std::byte> bytes, const Limits& limits);

// The recursion limit with which protobuf parses everything that check_wire() accepts.
int protobuf_recursion_limit(const Limits& limits);

}  // namespace anybit::onnx
