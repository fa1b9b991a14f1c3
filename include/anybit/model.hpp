// A model: loaded, verified, and never changed. Copies share it; they may be used from different threads.
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

struct LoadOptions {
  Limits limits;
  // External data may be symbolic or hard links, as in the caches of package managers and model hubs. Without
  // this only regular files beneath the model's folder are read.
  bool allow_linked_data = false;
};

struct SaveOptions {
  // Which tensors go into a file beside the model: `keep` leaves each where it was (and moves data out only
  // if the model would pass protobuf's 2 GB), `always` moves out all of `external_threshold` bytes or more,
  // `never` none.
  enum class External { keep, always, never } external = External::keep;
  std::int64_t external_threshold = 1024;
};

class Model {
 public:
  // Weights stay on disk until they are used.
  ANYBIT_API static Result<Model> load(const std::string& path, const LoadOptions& options = {}) noexcept;
  // The bytes of an ONNX file. Such a model has no folder, so it can have no external data.
  ANYBIT_API static Result<Model> from_bytes(std::string_view bytes,
                                             const LoadOptions& options = {}) noexcept;

  // The file appears whole or not at all.
  ANYBIT_API Result<void> save(const std::string& path, const SaveOptions& options = {}) const noexcept;
  // With all data inside; fails beyond protobuf's 2 GB.
  ANYBIT_API Result<std::string> to_bytes() const noexcept;

  // Shapes that the file declares and that contradict the inferred ones: corrected when it was loaded, and
  // declared rightly in what is saved.
  ANYBIT_API const std::vector<Error>& remarks() const noexcept;

  struct Content;

 private:
  friend struct ModelAccess;
  explicit Model(std::shared_ptr<const Content> content) noexcept : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

}  // namespace anybit
