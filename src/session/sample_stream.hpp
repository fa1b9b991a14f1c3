// Public samples as the library's own code takes them.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "anybit/samples.hpp"
#include "calibrate/gather.hpp"

namespace anybit {

// Names of samples are kept as long as somebody may ask for them.
class SampleStream {
 public:
  explicit SampleStream(Samples& samples) : samples_(samples) {}

  Result<std::optional<std::map<std::string, ops::Datum>>> next();
  // Where a sample came from; empty if that was long ago.
  std::string name(std::int64_t number);
  // How many there were so far.
  std::int64_t given() const { return given_; }

 private:
  void remember(std::string name);

  Samples& samples_;
  std::mutex mutex_;
  std::deque<std::string> names_;
  std::int64_t given_ = 0;
};

}  // namespace anybit
