#include "api/reference_outputs.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace anybit {

ReferenceOutputs::ReferenceOutputs(std::int64_t max_bytes) : content_(std::make_shared<Content>()) {
  content_->max_bytes = max_bytes;
}

const std::vector<ops::Datum>* ReferenceOutputs::Content::find(std::int64_t sample) const {
  const auto at = static_cast<std::size_t>(sample);
  return at < by_sample.size() && !by_sample[at].empty() ? &by_sample[at] : nullptr;
}

Result<void> ReferenceOutputs::Content::keep(std::int64_t sample, const std::vector<ops::Datum>& outputs) {
  std::int64_t size = 0;
  for (const ops::Datum& one : outputs) {
    if (!one.is_array() || one.array.type() == graph::ElementType::string) return {};
    size += static_cast<std::int64_t>(one.array.byte_count());
  }
  if (bytes + size > max_bytes) return {};
  std::vector<ops::Datum> kept;
  for (const ops::Datum& one : outputs) kept.emplace_back(TRY(one.array.copy(*memory)));
  by_sample.resize(std::max(by_sample.size(), static_cast<std::size_t>(sample) + 1));
  by_sample[static_cast<std::size_t>(sample)] = std::move(kept);
  bytes += size;
  return {};
}

}  // namespace anybit
