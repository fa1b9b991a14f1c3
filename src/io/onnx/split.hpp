// Parses serialized bytes into the generated messages, without copying large raw_data as protobuf would.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "io/onnx/onnx.pb.h"

namespace anybit::onnx {

// raw_data that is not in its message: a view into the parsed bytes, by tensor.
using SetAside = std::unordered_map<const wire::Tensor*, std::span<const std::byte>>;

// `bytes` have passed check_wire().
Result<void> parse_wire(std::span<const std::byte> bytes, const Limits& limits, wire::Model& model,
                        SetAside& set_aside);

}  // namespace anybit::onnx
