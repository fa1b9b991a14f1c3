// The collector of every value: element counts, minimum and maximum.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

struct Extent final : CollectorOf<Extent> {
  std::int64_t count = 0;  // elements
  std::int64_t nans = 0, infinities = 0;
  std::int64_t zeros = 0;        // including magnitudes below 2^-133
  std::int64_t samples = 0;      // in which it was computed; 0: in a branch that no sample took
  float min = 0, max = 0;        // of the finite values
  std::int64_t bad_sample = -1;  // index of the first sample with NaN or infinity; -1: none
  std::string first_bad;         // a description of that sample: "sample 3 (images/3.png)"

  std::int64_t finite() const { return count - nans - infinities; }
  // Adds one look, without counting a sample.
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
