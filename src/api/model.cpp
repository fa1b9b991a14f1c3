#include "anybit/model.hpp"

#include "api/declarations.hpp"
#include "api/model_access.hpp"
#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "io/model_file.hpp"
#include "io/onnx/save.hpp"

namespace anybit {

Result<Model> Model::load(const std::string& path, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(io::load(path, options));
    auto remarks = TRY(correct_declarations(model, options.limits));
    const auto size = static_cast<std::int64_t>(model.file->bytes().size());
    return ModelAccess::make({std::move(model), path, size, std::move(remarks), options.limits});
  });
}

Result<Model> Model::from_bytes(std::string_view bytes, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(io::parse(Bytes::own(std::string(bytes)), options));
    auto remarks = TRY(correct_declarations(model, options.limits));
    const auto size = static_cast<std::int64_t>(bytes.size());
    return ModelAccess::make({std::move(model), {}, size, std::move(remarks), options.limits});
  });
}

Result<void> Model::save(const std::string& path, const SaveOptions& options) const noexcept {
  return guarded([&] { return io::save(content_->model, path, options); });
}

const std::vector<Error>& Model::remarks() const noexcept { return content_->remarks; }

std::int64_t ModelAccess::bytes_of(const Model& model) {
  if (const std::int64_t read = content(model).file_bytes; read > 0) return read;
  return static_cast<std::int64_t>(onnx::serialized_size(content(model).model));
}

Result<std::string> Model::to_bytes() const noexcept {
  return guarded([&]() -> Result<std::string> { return onnx::serialize(content_->model); });
}

}  // namespace anybit
