#include "anybit/model.hpp"

#include <sys/stat.h>

#include "base/guard.hpp"
#include "base/try.hpp"
#include "onnx/load.hpp"
#include "onnx/save.hpp"
#include "session/model_access.hpp"

namespace anybit {
namespace {

onnx::LoadOptions inner(const LoadOptions& options) {
  return {options.limits, options.allow_linked_data ? Links::allow : Links::refuse};
}

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

}  // namespace

Result<Model> Model::load(const std::string& path, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(onnx::load(path, inner(options)));
    return ModelAccess::make({std::move(model), path, file_size(path)});
  });
}

Result<Model> Model::from_bytes(std::string_view bytes, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(onnx::parse(Bytes::own(std::string(bytes)), {}, inner(options)));
    return ModelAccess::make({std::move(model), {}, static_cast<std::int64_t>(bytes.size())});
  });
}

Result<void> Model::save(const std::string& path, const SaveOptions& options) const noexcept {
  return guarded([&]() -> Result<void> {
    onnx::SaveOptions inner;
    switch (options.external) {
      case SaveOptions::External::keep:
        inner.external = onnx::SaveOptions::External::keep;
        break;
      case SaveOptions::External::always:
        inner.external = onnx::SaveOptions::External::always;
        break;
      case SaveOptions::External::never:
        inner.external = onnx::SaveOptions::External::never;
        break;
    }
    inner.external_threshold = options.external_threshold;
    return onnx::save(content_->model, path, inner);
  });
}

Result<std::string> Model::to_bytes() const noexcept {
  return guarded([&]() -> Result<std::string> { return onnx::serialize(content_->model); });
}

}  // namespace anybit
