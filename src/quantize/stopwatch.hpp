// Measures the phases of quantization.
#pragma once

#include <chrono>

namespace anybit::quantizing {

class Stopwatch {
 public:
  // Returns the time since construction or the previous call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace anybit::quantizing
