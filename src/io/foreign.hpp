// Recognizes files that are not models, or models in formats that anybit does not read, for the error
// message.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace anybit::io {

struct ForeignKind {
  std::string_view name;  // "a TensorFlow Lite model"; empty if unknown
  std::string_view hint;
};

ForeignKind foreign_kind_of(std::span<const std::byte> bytes);

}  // namespace anybit::io
