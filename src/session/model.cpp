#include "anybit/model.hpp"

#include <sys/stat.h>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/try.hpp"
#include "onnx/load.hpp"
#include "onnx/save.hpp"
#include "ops/infer.hpp"
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

// Types and ranks that the model declares, against those that follow from its nodes.
Result<void> check_types(const graph::Model& model) {
  const auto inference = ops::infer(model);
  if (!inference.ok() || inference->contradictions.empty()) return {};
  const Error& first = inference->contradictions.front();
  return invalid_model(first.place, first.message, "the right type among value_info or outputs, or none");
}

}  // namespace

Result<Model> Model::load(const std::string& path, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(onnx::load(path, inner(options)));
    TRY(check_types(model));
    return ModelAccess::make({std::move(model), path, file_size(path)});
  });
}

Result<Model> Model::from_bytes(std::string_view bytes, const LoadOptions& options) noexcept {
  return guarded([&]() -> Result<Model> {
    graph::Model model = TRY(onnx::parse(Bytes::own(std::string(bytes)), {}, inner(options)));
    TRY(check_types(model));
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
