// A pseudorandom subset of the samples, for algorithms that are too slow for all of them. The subset and its
// order do not depend on the order of the samples.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/array.hpp"

namespace anybit::quantizing {

using Sample = std::map<std::string, ops::Datum>;  // inputs by name

// Copies the arrays that the sample does not own: the caller's data may be gone when it is used.
Result<void> make_own(Sample& sample, ops::Memory& memory);

class ChosenSamples {
 public:
  explicit ChosenSamples(std::size_t most = 0) : most_(most) {}
  std::size_t most() const { return most_; }
  // A number that stands for the sample if it is among the chosen ones for now.
  Result<std::optional<std::uint64_t>> offer(const Sample& sample);
  bool has(std::uint64_t number) const { return by_hash_.contains(number); }
  // The numbers of the chosen samples, in their order.
  std::vector<std::uint64_t> numbers() const;
  // The subset for a smaller number is a prefix of this one.
  std::vector<Sample> take();

 private:
  std::size_t most_;
  std::shared_ptr<ops::Memory> memory_ = ops::Memory::make();
  std::multimap<std::uint64_t, Sample> by_hash_;
};

}  // namespace anybit::quantizing
