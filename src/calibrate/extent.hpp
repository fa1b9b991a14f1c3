// The collector that every value has: counts of its elements, and the least and the largest of them.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

struct Extent final : CollectorOf<Extent> {
  std::int64_t count = 0;  // elements
  std::int64_t nans = 0, infinities = 0;
  std::int64_t zeros = 0;        // magnitudes below 2^-133 count as zero
  std::int64_t samples = 0;      // in which it was seen: none, if it is in a branch that was never entered
  float min = 0, max = 0;        // of the finite values
  std::int64_t bad_sample = -1;  // the first with NaN or infinity, from 0; -1: none
  std::string first_bad;         // the same for a reader: "sample 3 (images/3.png)"

  std::int64_t finite() const { return count - nans - infinities; }
  // Of one look: `samples` is not touched.
  void add(const kernels::Extremes& seen);
  void add_bad(std::int64_t sample, const std::string& name);
  Result<void> merge(const Extent& other);

  Result<void> see(const Look& look, Workbench& bench, std::mutex& guard) override;
  void end_sample(const Glance& glance) override;
  void write(JsonMembers& to) const override;
  Result<void> read(const JsonTree& from, const Extent& extent) override;
  friend bool operator==(const Extent&, const Extent&) = default;
};

}  // namespace anybit::calibrate
