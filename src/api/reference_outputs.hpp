// The outputs of a reference model by sample, shared by several comparisons.
#pragma once

#include <memory>
#include <vector>

#include "anybit/compare.hpp"
#include "ops/array.hpp"

namespace anybit {

struct ReferenceOutputs::Content {
  std::int64_t max_bytes = 0, bytes = 0;
  std::shared_ptr<ops::Memory> memory = ops::Memory::make();
  std::vector<std::vector<ops::Datum>> by_sample;  // empty: did not fit

  // The outputs of a sample; null if they are not kept.
  const std::vector<ops::Datum>* find(std::int64_t sample) const;
  // Keeps a copy if there is room. Samples come in order.
  Result<void> keep(std::int64_t sample, const std::vector<ops::Datum>& outputs);
};

struct ReferenceOutputsAccess {
  static ReferenceOutputs::Content& of(const ReferenceOutputs& outputs) { return *outputs.content_; }
};

}  // namespace anybit
