// What a file may be that is no model, or none that anybit reads: so that the error can say so.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace anybit::io {

struct ForeignKind {
  std::string_view name;  // "a TensorFlow Lite model"; empty if nothing is recognised
  std::string_view hint;
};

ForeignKind foreign_kind_of(std::span<const std::byte> bytes);

}  // namespace anybit::io
