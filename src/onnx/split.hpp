// Serialized bytes to the generated messages, with large raw_data left where it is: protobuf would copy it.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "onnx/onnx.pb.h"

namespace anybit::onnx {

// The raw_data of tensors whose message has none: a view into the bytes that were parsed.
using SetAside = std::unordered_map<const wire::Tensor*, std::span<const std::byte>>;

// `bytes` have passed check_wire().
Result<void> parse_wire(std::span<const std::byte> bytes, const Limits& limits, wire::Model& model,
                        SetAside& set_aside);

}  // namespace anybit::onnx
