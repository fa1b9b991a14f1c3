#include "io/model_file.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/path.hpp"
#include "base/try.hpp"
#include "io/foreign.hpp"
#include "io/table.hpp"

namespace anybit::io {
namespace {

// "ONNX (.onnx), TensorFlow Lite (.tflite)"
std::string known_kinds() {
  std::string list;
  for (const Descriptor* one : table())
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", one->name, one->extension);
  return list;
}

// Null if no format matches the bytes.
const Descriptor* kind_of(std::span<const std::byte> bytes) {
  const Descriptor* best = nullptr;
  Claim claim = Claim::no;
  for (const Descriptor* one : table()) {
    const Claim its = one->probe(bytes);
    if (its > claim) best = one;
    claim = std::max(claim, its);
  }
  return best;
}

Error unknown(std::span<const std::byte> bytes) {
  if (bytes.empty()) return error_at(Code::malformed, "byte 0", "the file is empty");
  const ForeignKind foreign = foreign_kind_of(bytes);
  const std::string what = foreign.name.empty()
                               ? "the file is not in a known model format"
                               : fmt::format("this looks like {}, which anybit does not read", foreign.name);
  const std::string known = fmt::format("anybit reads {}", known_kinds());
  return error_at(Code::malformed, "byte 0", what,
                  foreign.hint.empty() ? known : fmt::format("{}; {}", foreign.hint, known));
}

Result<graph::Model> read(const Bytes& bytes, const std::string& folder, const LoadOptions& options) {
  const Descriptor* kind = kind_of(bytes.span());
  if (!kind) return unknown(bytes.span());
  auto model = kind->read(bytes, folder, options);
  const bool damaged = !model.ok() && model.error().code == Code::malformed;
  if (damaged && !foreign_kind_of(bytes.span()).name.empty()) return unknown(bytes.span());
  return model;
}

}  // namespace

bool before(const Descriptor& a, const Descriptor& b) { return a.name < b.name; }

Result<graph::Model> load(const std::string& path, const LoadOptions& options) {
  const auto file = TRY(MappedFile::open(path));
  graph::Model model = TRY(read(file->bytes(), folder_of(path), options));
  TRY(file->intact());
  model.sources.push_back(file);
  model.file = file;
  return model;
}

Result<graph::Model> parse(const Bytes& bytes, const LoadOptions& options) {
  return read(bytes, {}, options);
}

Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  if (extension.empty()) extension = ".onnx";
  for (const Descriptor* one : table()) {
    if (one->extension == extension && one->save) return one->save(model, path, options);
  }
  return invalid_argument(fmt::format("'{}': anybit writes no model format with the extension '{}'",
                                      shown(path), shown(extension)),
                          fmt::format("anybit writes {}", known_kinds()));
}

}  // namespace anybit::io
