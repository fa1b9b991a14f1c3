// Some of many samples, for what takes too long on all of them: the same ones in the same order, in whatever
// order they came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/array.hpp"

namespace anybit::quantizing {

using Sample = std::map<std::string, ops::Datum>;  // inputs by name

class ChosenSamples {
 public:
  explicit ChosenSamples(std::size_t most = 0) : most_(most) {}
  Result<void> offer(const Sample& sample);
  // The first of them are those that would have been chosen if there were to be fewer.
  std::vector<Sample> take();

 private:
  std::size_t most_;
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  std::multimap<std::uint64_t, Sample> by_hash_;
};

}  // namespace anybit::quantizing
