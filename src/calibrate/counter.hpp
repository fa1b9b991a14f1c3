// A fast counter that fills bins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "kernels/reduce/observe.hpp"

namespace anybit::calibrate {

class Bins;

// One per thread: it holds 1 MB of counters.
class Counter {
 public:
  Counter();
  // `seen`: the extremes of these values. Holds `guard` while it modifies `bins`.
  void count(const float* x, std::size_t n, const kernels::Extremes& seen, Bins& bins, std::mutex& guard);

 private:
  void flush(const kernels::Extremes& seen, Bins& bins);
  std::unique_ptr<std::uint32_t[]> table_;  // zero between calls
};

}  // namespace anybit::calibrate
