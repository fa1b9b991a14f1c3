// Collector of XᵀX, the Gram matrix of the input rows of a layer: half the Hessian of GPTQ (Frantar et al.,
// ICLR 2023) and of layer-wise rounding. For a convolution the rows are the im2col patches, per group.
#pragma once

#include "calibrate/exact_sums.hpp"
#include "calibrate/view.hpp"

namespace anybit::calibrate {

class SecondMoment final : public CollectorOf<SecondMoment> {
 public:
  explicit SecondMoment(View view = {}) : view_(std::move(view)) {}

  std::int64_t rows() const { return rows_; }  // per group; rows with NaN or infinity are skipped
  std::int64_t groups() const { return groups_; }
  std::int64_t length() const { return length_; }  // of a row; 0: none were seen
  double at(std::int64_t group, std::int64_t i, std::int64_t k) const;
  Result<void> merge(const SecondMoment& other);

  Result<void> see(const Look& look, Workbench& bench, std::mutex& guard) override;
  void write(JsonMembers& to) const override;
  Result<void> read(const JsonTree& from, const Extent& extent) override;
  Numbers numbers() const override;  // [length, length], or [groups, length, length]
  friend bool operator==(const SecondMoment& a, const SecondMoment& b) {
    return a.rows_ == b.rows_ && a.groups_ == b.groups_ && a.length_ == b.length_ && a.sums_ == b.sums_;
  }

 private:
  std::int64_t triangle() const { return length_ * (length_ + 1) / 2; }

  View view_;
  std::int64_t rows_ = 0, groups_ = 1, length_ = 0;
  ExactSums sums_;  // upper triangles, row by row
};

}  // namespace anybit::calibrate
