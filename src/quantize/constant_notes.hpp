// The notes on constants. Those that several nodes share are quantized once, if they are to be in one way.
#pragma once

#include <unordered_map>

#include "quantize/annotation.hpp"

namespace anybit::quantizing {

class ConstantNotes {
 public:
  explicit ConstantNotes(GraphNotes& notes) : notes_(notes) {}

  // The number of the note that serves the place of `wanted`: a new one, or one that was there.
  std::size_t add(ConstantNote wanted);

 private:
  GraphNotes& notes_;
  std::unordered_map<const graph::Tensor*, std::vector<std::size_t>> by_tensor_;
};

}  // namespace anybit::quantizing
