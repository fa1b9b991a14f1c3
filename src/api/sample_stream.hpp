// Adapts public Samples to the runtime's values.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "anybit/samples.hpp"
#include "calibrate/gather.hpp"

namespace anybit {

// Remembers the names of recent samples, for messages.
class SampleStream {
 public:
  explicit SampleStream(Samples& samples) : samples_(samples) {}

  Result<std::optional<std::map<std::string, ops::Datum>>> next();
  // The origin of a sample; empty if it is no longer remembered.
  std::string name(std::int64_t number);
  // The number of samples so far.
  std::int64_t given() const { return given_; }

 private:
  void remember(std::string name);

  Samples& samples_;
  std::mutex mutex_;
  std::deque<std::string> names_;
  std::int64_t given_ = 0;
};

}  // namespace anybit
