// Sums of doubles that do not depend on any order, so that those of parts add up to those of the whole, bit
// for bit. Each number is cut into digits of 40 bits at fixed places; whole numbers are summed, those of the
// two leading digits of the largest number that any of the sums was given (Demmel and Nguyen, Parallel
// Reproducible Summation, IEEE Transactions on Computers 64, 2015). What is lost of a number is less than
// 2^-40 of that largest one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

class ExactSums {
 public:
  // Of so many numbers each; digits are 64 bits wide, and sums of 40 must fit.
  static constexpr std::int64_t kMostAdded = std::int64_t{1} << 22;

  explicit ExactSums(std::size_t count = 0) : high_(count), low_(count) {}
  static std::int64_t bytes(std::int64_t count) {
    return count * 2 * static_cast<std::int64_t>(sizeof(std::int64_t));
  }

  std::size_t size() const { return high_.size(); }
  double operator[](std::size_t i) const;
  // One finite number for each sum. An error if there were too many.
  Result<void> add(std::span<const double> numbers);
  // The other has as many.
  Result<void> merge(const ExactSums& other);

  void write(JsonMembers& to) const;
  // `count` of them, and no others.
  Result<void> read(const JsonTree& from, std::int64_t count);
  friend bool operator==(const ExactSums&, const ExactSums&) = default;

 private:
  static constexpr int kDigit = 40, kLowest = -30, kHighest = 25;  // digits that doubles have
  void raise(int top);

  int top_ = kLowest;       // high_ counts 2^(40 · top)
  std::int64_t added_ = 0;  // numbers, to each
  std::vector<std::int64_t> high_, low_;
};

}  // namespace anybit::calibrate
