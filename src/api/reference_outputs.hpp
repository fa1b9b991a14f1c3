// The outputs of a float model by sample, shared by calibration and comparisons.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "anybit/reference_outputs.hpp"
#include "anybit/result.hpp"
#include "ops/array.hpp"

namespace anybit {

struct ReferenceOutputs::Content {
  Content(std::int64_t bytes, std::int64_t samples) : max_bytes(bytes), max_samples(samples) {}

  // The outputs of a sample; empty if they are not kept.
  std::vector<ops::Datum> find(std::int64_t sample) const;
  // Keeps a copy if there is room. Without a limit of samples, it depends on their order which ones fit.
  Result<void> keep(std::int64_t sample, const std::vector<ops::Datum>& outputs);

 private:
  const std::int64_t max_bytes, max_samples;
  const std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  mutable std::mutex mutex_;
  std::int64_t bytes_ = 0;
  std::map<std::int64_t, std::vector<ops::Datum>> by_sample_;
};

struct ReferenceOutputsAccess {
  static ReferenceOutputs::Content& of(const ReferenceOutputs& outputs) { return *outputs.content_; }
};

}  // namespace anybit
