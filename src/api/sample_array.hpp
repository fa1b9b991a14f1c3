// An array with one sample of an input, or several along the first axis.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "anybit/samples.hpp"
#include "api/pixel_scaling.hpp"

namespace anybit {

struct SampleArray {
  Port port;
  Array array;
  std::vector<std::int64_t> dims;  // of one sample
  std::int64_t count = 1;
  std::optional<PixelScaling> pixels = {};  // for bytes that are pixels
  std::size_t channel_axis = 0;             // of one sample; its rank: no channels

  // Determines the number of samples and the shape of one. With `options.for_run`, the array is a single
  // sample for an input with an unknown batch size.
  static Result<SampleArray> make(const Port& port, Array array, const SampleOptions& options);
  // A copy of one sample, converted to the input's type where that is unambiguous.
  Result<Value> at(std::int64_t index) const;

 private:
  Result<void> take_pixels(const SampleOptions& options);
  Array scaled(const Array& bytes) const;
  static constexpr std::size_t kSmall = std::size_t{1} << 20;  // smaller files are read into memory
  Result<std::vector<std::byte>> read(std::size_t begin, std::size_t size) const;
};

}  // namespace anybit
