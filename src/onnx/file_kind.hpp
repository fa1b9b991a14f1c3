// Guesses what a file that is not ONNX is, so that the error can say so.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace anybit::onnx {

struct FileKind {
  std::string_view name;  // "a TensorFlow Lite model"; empty if nothing is recognised
  std::string_view hint;
};

FileKind kind_of(std::span<const std::byte> bytes);

}  // namespace anybit::onnx
