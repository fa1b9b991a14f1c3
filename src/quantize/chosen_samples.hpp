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
  Result<void> offer(const Sample& sample);
  std::vector<Sample> take();

 private:
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  std::multimap<std::uint64_t, Sample> by_hash_;
};

}  // namespace anybit::quantizing
