// Looks over the bytes of an ONNX file before protobuf sees them, so that what protobuf then builds is
// bounded: a two-byte empty message costs some two hundred bytes in memory, and nested ones cost stack. The
// encoding: protobuf.dev/programming-guides/encoding; the messages: src/onnx/onnx.proto.
#pragma once

#include <cstddef>
#include <span>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"

namespace anybit::onnx {

// Payloads are skipped, not read: a gigabyte of weights takes no time. A field of an unexpected wire type
// passes, as in protobuf, which keeps it among the unknown fields.
Result<void> check_wire(std::span<const std::byte> bytes, const Limits& limits);

// The recursion limit that lets protobuf read everything that check_wire() lets through.
int protobuf_recursion_limit(const Limits& limits);

}  // namespace anybit::onnx
