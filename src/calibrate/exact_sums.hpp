// Reproducible summation of doubles: the result does not depend on the order, and sums of parts add up to the
// sum of the whole, bit for bit. Every number is cut into 40-bit digits at fixed positions, and the two
// leading digits relative to the largest number of all sums are accumulated as integers (Demmel and Nguyen,
// Parallel Reproducible Summation, IEEE Transactions on Computers 64, 2015). The error of a number is below
// 2^-40 of that largest number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

class ExactSums {
 public:
  // The largest number of additions per sum: 40-bit digits must fit a 64-bit accumulator.
  static constexpr std::int64_t kMostAdded = std::int64_t{1} << 22;

  explicit ExactSums(std::size_t count = 0) : high_(count), low_(count) {}
  static std::int64_t bytes(std::int64_t count) {
    return count * 2 * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

  std::size_t size() const { return high_.size(); }
  double operator[](std::size_t i) const;
  // Adds one finite number to each sum. An error if there were too many additions.
  Result<void> add(std::span<const double> numbers);
  // `other` must have as many sums.
  Result<void> merge(const ExactSums& other);

  void write(JsonMembers& to) const;
  // Reads exactly `count` sums.
  Result<void> read(const JsonTree& from, std::int64_t count);
  friend bool operator==(const ExactSums&, const ExactSums&) = default;

 private:
  static constexpr int kDigit = 40, kLowest = -30, kHighest = 25;  // the digits of a double
  void raise(int top);

  int top_ = kLowest;       // the unit of high_ is 2^(40 · top_)
  std::int64_t added_ = 0;  // additions per sum
  std::vector<std::int64_t> high_, low_;
};

}  // namespace anybit::calibrate
