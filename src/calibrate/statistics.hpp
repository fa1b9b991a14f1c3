// What calibration knows of one tensor. Everything but the moving average is free of order: statistics of
// parts, merged, are those of the whole, bit for bit.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "anybit/result.hpp"
#include "calibrate/bins.hpp"
#include "kernels/observe.hpp"

namespace anybit::calibrate {

// m ← m + momentum · (x − m), from the first value on. It keeps what it takes to put two of them one after
// the other.
struct MovingAverage {
  double value = 0, first = 0;
  std::int64_t count = 0;

  void add(double x, double momentum);
  // As if the other's values had followed.
  void append(const MovingAverage& other, double momentum);
  friend bool operator==(const MovingAverage&, const MovingAverage&) = default;
};

struct Statistics {
  std::int64_t count = 0;  // elements
  std::int64_t nans = 0, infinities = 0;
  std::int64_t zeros = 0;    // magnitudes below 2^-133 count as zero
  std::int64_t samples = 0;  // in which it was seen: none, if it is in a branch that was never entered
  float min = 0, max = 0;    // of the finite values
  double momentum = 0.01;    // of the moving averages of each sample's extremes
  MovingAverage average_min, average_max;
  bool has_bins = false;
  Bins bins;                     // of the finite values that are not zero
  std::int64_t bad_sample = -1;  // the first with NaN or infinity, from 0; -1: none
  std::string first_bad;         // the same for a reader: "sample 3 (images/3.png)"

  std::int64_t finite() const { return count - nans - infinities; }
  // Values of one part of one sample: counts and extremes. `samples` and the averages are not touched.
  void add(const kernels::Extremes& seen);
  void add_bad(std::int64_t sample, const std::string& name);
  // The other's samples follow these. An error if the momentum or the presence of bins differs.
  Result<void> merge(const Statistics& other);
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

// Fills bins fast. One for each thread: it holds a megabyte of counters.
class Counter {
 public:
  Counter();
  // `seen`: the extremes of these values. `guard` is held while `bins` is changed.
  void count(const float* x, std::size_t n, const kernels::Extremes& seen, Bins& bins, std::mutex& guard);

 private:
  void flush(const kernels::Extremes& seen, Bins& bins);
  std::unique_ptr<std::uint32_t[]> table_;  // all zero between calls
};

}  // namespace anybit::calibrate
