// An array that holds one sample of an input or many, one after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "anybit/samples.hpp"

namespace anybit {

struct SampleArray {
  Port port;
  Array array;
  std::vector<std::int64_t> dims;  // of one sample
  std::int64_t count = 1;

  // Finds out how many samples of the input there are, and what shape each is of. `whole`: an input whose
  // batch is open takes the array as one sample.
  static Result<SampleArray> make(const Port& port, Array array, bool whole);
  // In memory of its own, and of the input's type where numbers can be converted without a second thought.
  Result<Value> at(std::int64_t index) const;

 private:
  static constexpr std::size_t kSmall = std::size_t{1} << 20;  // files that may as well be in memory
  Result<std::vector<std::byte>> read(std::size_t begin, std::size_t size) const;
};

}  // namespace anybit
