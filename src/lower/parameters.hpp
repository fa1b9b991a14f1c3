// How a tensor's values stand for numbers: x = (q - zero_point) · scale. docs/formats.md#affine.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/tensor.hpp"

namespace anybit::lower {

struct Parameters {
  graph::ElementType type = graph::ElementType::int8;
  std::vector<float> scales = {};              // one, or one for each channel or block
  std::vector<std::int32_t> zero_points = {};  // as many
  std::vector<std::int64_t> dims = {};         // of the scales; none: one for the whole tensor
  std::int64_t axis = 0;                       // along which the scales change
  std::int64_t block_size = 0;  // values along the axis that share one; 0: channels, not blocks

  bool per_tensor() const { return dims.empty(); }
  friend bool operator==(const Parameters&, const Parameters&) = default;
};

// Bits, and the smallest and largest code, of an integer type; 0 bits if it is none.
struct Codes {
  int bits = 0;
  std::int32_t low = 0, high = 0;
};
Codes codes_of(graph::ElementType type);

// Codes of at most 8 bits, a byte each, into `bits` of each: the first in the lowest.
Bytes pack(std::vector<std::uint8_t> codes, int bits);

// As constants of a model. int4 and int2 are packed.
graph::Tensor scale_tensor(const Parameters& of, std::string name);
graph::Tensor zero_point_tensor(const Parameters& of, std::string name);
graph::Tensor code_tensor(graph::ElementType type, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int32_t>& codes, std::string name);

}  // namespace anybit::lower
