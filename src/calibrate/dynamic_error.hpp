// Collector of the error of quantizing a value to 8 bits at run time: symmetrically, with scale max|x| / 127,
// and asymmetrically, with 255 steps from min(0, min x) to max(0, max x). Each look has its own scale.
#pragma once

#include "calibrate/exact_sums.hpp"
#include "calibrate/view.hpp"

namespace anybit::calibrate {

class DynamicError final : public CollectorOf<DynamicError> {
 public:
  // The sum of squared errors divided by that of the values; 0 if the values are all zero.
  double symmetric() const { return relative(1); }
  double asymmetric() const { return relative(2); }
  Result<void> merge(const DynamicError& other) { return sums_.merge(other.sums_); }

  Result<void> see(const Look& look, Workbench& bench, std::mutex& guard) override;
  void write(JsonMembers& to) const override { sums_.write(to); }
  Result<void> read(const JsonTree& from, const Extent&) override { return sums_.read(from, kSums); }
  Numbers numbers() const override;  // squares of the values, of symmetric errors, of asymmetric errors
  friend bool operator==(const DynamicError& a, const DynamicError& b) { return a.sums_ == b.sums_; }

 private:
  static constexpr std::int64_t kSums = 3;
  double relative(std::size_t which) const { return sums_[0] > 0 ? sums_[which] / sums_[0] : 0; }

  ExactSums sums_{kSums};
};

}  // namespace anybit::calibrate
