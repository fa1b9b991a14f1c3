/// @file
/// Loading and saving of ONNX models.
///
/// @code{.cpp}
/// anybit::LoadOptions options;
/// options.limits.nodes = 10'000;
/// auto model = anybit::Model::load("model.onnx", options);
/// if (!model) return;  // model.error() has the reason
/// auto saved = model->save("copy.onnx", {.external = anybit::SaveOptions::External::always});
/// @endcode
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/limits.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Options of Model::load() and Model::from_bytes().
struct LoadOptions {
  Limits limits;  ///< larger models are rejected
  /// Accept external data through symbolic or hard links, as in the caches of package managers and model
  /// hubs. Otherwise only regular files beneath the model's folder are read, others are Code::unsafe_path.
  bool allow_linked_data = false;
};

/// Options of Model::save().
struct SaveOptions {
  /// Which tensors are stored as external data, in a file beside the model. `keep`: those that were external
  /// when the model was loaded, and more only if the model would exceed protobuf's limit of 2 GB. `always`:
  /// all of `external_threshold` bytes or more. `never`: none.
  enum class External { keep, always, never } external = External::keep;
  std::int64_t external_threshold = 1024;  ///< bytes, for `always`
};

/// A verified model. Immutable: copies are cheap, share the data, and may be used by different threads at the
/// same time.
class Model {
 public:
  /// Loads and verifies an ONNX file. Weights are memory-mapped and read when they are used; the file may be
  /// replaced while the model lives, but must not be overwritten in place.
  ANYBIT_API static Result<Model> load(const std::string& path, const LoadOptions& options = {}) noexcept;
  /// Loads and verifies an ONNX model from memory. The bytes are copied. Such a model has no folder, and
  /// cannot have external data.
  ANYBIT_API static Result<Model> from_bytes(std::string_view bytes,
                                             const LoadOptions& options = {}) noexcept;

  /// Saves the model atomically: on failure, a file that existed at `path` is unchanged.
  ANYBIT_API Result<void> save(const std::string& path, const SaveOptions& options = {}) const noexcept;
  /// Returns the serialized model with all data embedded. Fails if it exceeds protobuf's limit of 2 GB.
  ANYBIT_API Result<std::string> to_bytes() const noexcept;

  /// Returns a warning for every shape in the file that contradicts the inferred shape. Loading replaces them
  /// by the inferred shapes.
  ANYBIT_API const std::vector<Error>& remarks() const noexcept;

  struct Content;

 private:
  friend struct ModelAccess;
  explicit Model(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace anybit
