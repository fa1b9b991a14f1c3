#include "io/foreign.hpp"

#include <algorithm>

namespace anybit::io {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kExportToOnnx = "export the model to ONNX first (torch.onnx.export)";

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  ForeignKind kind;
};

constexpr Signature kSignatures[] = {
    {4, "ORTM"sv, {"an ONNX Runtime (.ort) model", "give the .onnx file that it was made from"}},
    {0, "PK\x03\x04"sv, {"a zip archive, perhaps a PyTorch checkpoint", kExportToOnnx}},
    {0, "\x80\x02"sv, {"a Python pickle, perhaps a PyTorch checkpoint", kExportToOnnx}},
    {0, "\x80\x04"sv, {"a Python pickle", kExportToOnnx}},
    {0, "GGUF"sv, {"a GGUF model", "give the ONNX model of the same network"}},
    {0, "\x89HDF"sv, {"an HDF5 file, perhaps a Keras model", "convert it to ONNX first (tf2onnx)"}},
    {0, "\x1f\x8b"sv, {"a gzip file", "unpack it first"}},
    {0, "\x93NUMPY"sv, {"a NumPy array", "give the model, not its data"}},
    {0,
     "\x7f"
     "ELF"sv,
     {"a program or library", ""}},
    {8, "{\""sv, {"a safetensors file", kExportToOnnx}},
    {0, "version https://git-lfs"sv, {"a Git LFS pointer", "fetch the file itself: git lfs pull"}},
};

bool is_text(std::string_view start) {
  return std::all_of(start.begin(), start.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

ForeignKind foreign_kind_of(std::span<const std::byte> bytes) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& signature : kSignatures) {
    if (all.size() >= signature.offset && all.substr(signature.offset).starts_with(signature.bytes)) {
      return signature.kind;
    }
  }
  const std::string_view start = all.substr(0, 256);
  if (!is_text(start)) return {};
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first != start.npos && (start[first] == '{' || start[first] == '[')) {
    return {"JSON", "save the model in ONNX's binary form (onnx.save)"};
  }
  if (first != start.npos && start[first] == '<')
    return {"HTML or XML", "download the file itself, not its page"};
  return {"text", "save the model in ONNX's binary form (onnx.save)"};
}

}  // namespace anybit::io
