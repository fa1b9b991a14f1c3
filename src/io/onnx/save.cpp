// Saving in a safe order: data under an unused name, then the model, renamed into place; only then are data
// files of the replaced model removed.
#include "io/onnx/save.hpp"

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/path.hpp"
#include "base/try.hpp"
#include "io/onnx/data_names.hpp"
#include "io/onnx/encode.hpp"
#include "io/onnx/external_plan.hpp"

namespace anybit::onnx {
namespace {

constexpr std::uint64_t kLargestMessage = (std::uint64_t{1} << 31) - 1;  // protobuf's own limit

Error too_large(std::uint64_t size, const char* hint) {
  return error_at(
      Code::limit_exceeded, {},
      fmt::format("the model takes {} bytes, and a protobuf file may have {}", size, kLargestMessage), hint);
}

// Unreadable data explains any other failure, so it is checked first.
Result<void> intact(const graph::Model& model) {
  for (const auto& source : model.sources) TRY(source->intact());
  return {};
}

// Data lies beside the model: if `path` is a link to another folder, it would lie beside the link.
Result<void> check_folder(const std::string& path) {
  const std::string end = TRY(end_of_links(path));
  std::error_code ignored;
  if (end == path || std::filesystem::equivalent(folder_of(end), folder_of(path), ignored)) return {};
  return invalid_argument(fmt::format("cannot write '{}': it is a link to another folder, and the model has "
                                      "data that goes beside it",
                                      shown(path)),
                          fmt::format("'{}' as the output", shown(end)));
}

Result<void> write_files(const graph::Model& model, const Encoding& encoding, AtomicFile& model_file,
                         const std::vector<ExternalPiece>& pieces, std::optional<AtomicFile>& data_file) {
  if (data_file) {
    TRY(write_pieces(pieces, *data_file));
    TRY(data_file->finish());
  }
  TRY(encoding.write([&](std::span<const std::byte> bytes) { return model_file.write(bytes); }));
  TRY(model_file.finish());
  return intact(model);
}

}  // namespace

Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options) {
  for (const auto& source : model.sources) {
    if (source != model.file && source->is_at(path))
      return invalid_argument(fmt::format("cannot write '{}': it holds weights of the model", shown(path)),
                              "another name for the output");
  }
  const std::string name = file_name_of(path), folder = folder_of(path);
  ExternalLayout layout = lay_out(model, options, false);
  std::optional<Encoding> encoding;
  const auto encode = [&]() -> Result<void> {
    if (!layout.plan.parts.empty()) layout.plan.location = TRY(free_data_name(folder, name));
    encoding.emplace(model, layout.plan);
    return {};
  };
  TRY(encode());
  if (encoding->size() > kLargestMessage && options.external == SaveOptions::External::keep) {
    layout = lay_out(model, options, true);
    TRY(encode());
  }
  if (encoding->size() > kLargestMessage) {
    return too_large(encoding->size(), "let tensor data go to a file beside the model (external data)");
  }

  std::optional<AtomicFile> data_file;
  if (!layout.plan.parts.empty()) {
    TRY(check_folder(path));
    data_file = TRY(AtomicFile::create(folder + '/' + layout.plan.location, Links::refuse));
  }
  AtomicFile model_file = TRY(AtomicFile::create(path));
  auto written = write_files(model, *encoding, model_file, layout.pieces, data_file);
  if (!written.ok()) {
    TRY(intact(model));
    return written;
  }
  const auto old_data = model_file.replaces() ? data_names_of(path) : std::vector<std::string>();
  // If the model's commit fails, the data stays: the model may be in place nevertheless.
  if (data_file) TRY(data_file->commit());
  TRY(model_file.commit());
  remove_stale_data(folder, old_data, layout.plan.location);
  return {};
}

std::uint64_t serialized_size(const graph::Model& model) { return Encoding(model, ExternalPlan()).size(); }

Result<std::string> serialize(const graph::Model& model) {
  const ExternalPlan inside;
  const Encoding encoding(model, inside);
  if (encoding.size() > kLargestMessage) {
    return too_large(encoding.size(), "save it to a file, with tensor data beside it (external data)");
  }
  std::string text;
  text.reserve(encoding.size());
  TRY(encoding.write([&](std::span<const std::byte> bytes) {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Result<void>();
  }));
  TRY(intact(model));
  return text;
}

}  // namespace anybit::onnx
