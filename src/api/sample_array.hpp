// An array with one sample of an input, or several along the first axis.
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

  // Determines the number of samples and the shape of one. `whole`: for an input with an unknown batch size,
  // the array is a single sample.
  static Result<SampleArray> make(const Port& port, Array array, bool whole);
  // A copy of one sample, converted to the input's type where that is unambiguous.
  Result<Value> at(std::int64_t index) const;

 private:
  static constexpr std::size_t kSmall = std::size_t{1} << 20;  // smaller files are read into memory
  Result<std::vector<std::byte>> read(std::size_t begin, std::size_t size) const;
};

}  // namespace anybit
