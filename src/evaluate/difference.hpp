// Accumulates the difference between two tensors (SQNR, cosine similarity, largest error) over any number of
// values.
#pragma once

#include <cstdint>
#include <span>

#include "anybit/compare.hpp"

namespace anybit::evaluate {

class DifferenceSums {
 public:
  // Both spans have the same length.
  void add(std::span<const float> reference, std::span<const float> other);
  // Adds the sums of other values.
  void add(const DifferenceSums& other);
  // Counts a sample that cannot be compared.
  void skip() { ++skipped_; }
  std::int64_t skipped() const { return skipped_; }
  void fill(Difference& difference) const;

 private:
  std::int64_t count_ = 0, skipped_ = 0;
  double reference_ = 0, other_ = 0, product_ = 0, noise_ = 0;  // sums of squares and of products
  double largest_error_ = 0, largest_value_ = 0;
  bool broken_ = false;  // a NaN or infinity in only one of them
};

}  // namespace anybit::evaluate
