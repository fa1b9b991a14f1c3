// Fills bins fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/observe.hpp"

namespace anybit::calibrate {

class Bins;

// One for each thread: it holds a megabyte of counters.
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
