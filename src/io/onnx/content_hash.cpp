#include "io/onnx/content_hash.hpp"

#include "base/hash.hpp"
#include "base/try.hpp"
#include "io/onnx/encode.hpp"

namespace anybit::onnx {

Result<std::string> content_hash(const graph::Model& model) {
  const ExternalPlan nothing_outside;
  const Encoding encoding(model, nothing_outside);
  Sha256 hash;
  TRY(encoding.write([&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    return Result<void>();
  }));
  for (const auto& source : model.sources) TRY(source->intact());
  return hash.hex();
}

}  // namespace anybit::onnx
