// The notes on constants. A constant that several nodes use in the same way is quantized once.
#pragma once

#include <unordered_map>

#include "quantize/annotation.hpp"

namespace anybit::quantizing {

class ConstantNotes {
 public:
  explicit ConstantNotes(GraphNotes& notes) : notes_(notes) {}

  // Returns the index of the note for `wanted`, which is an existing one or a new one.
  std::size_t add(ConstantNote wanted);

 private:
  GraphNotes& notes_;
  std::unordered_map<const graph::Tensor*, std::vector<std::size_t>> by_tensor_;
};

}  // namespace anybit::quantizing
