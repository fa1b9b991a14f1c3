#include "api/reference_outputs.hpp"

#include "base/try.hpp"

namespace anybit {

ReferenceOutputs::ReferenceOutputs(std::int64_t max_bytes, std::int64_t max_samples)
    : content_(std::make_shared<Content>(max_bytes, max_samples)) {}

std::vector<ops::Datum> ReferenceOutputs::Content::find(std::int64_t sample) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_sample_.find(sample);
  return found == by_sample_.end() ? std::vector<ops::Datum>() : found->second;
}

Result<void> ReferenceOutputs::Content::keep(std::int64_t sample, const std::vector<ops::Datum>& outputs) {
  if (max_samples > 0 && sample >= max_samples) return {};
  std::int64_t size = 0;
  for (const ops::Datum& one : outputs) {
    if (!one.is_array() || one.array.type() == graph::ElementType::string) return {};
    size += static_cast<std::int64_t>(one.array.byte_count());
  }
  if (max_samples > 0 && size > max_bytes / max_samples) return {};
  const std::lock_guard lock(mutex_);
  if (bytes_ + size > max_bytes) return {};
  std::vector<ops::Datum> kept;
  for (const ops::Datum& one : outputs) kept.emplace_back(TRY(one.array.copy(*memory_)));
  if (by_sample_.emplace(sample, std::move(kept)).second) bytes_ += size;
  return {};
}

}  // namespace anybit
