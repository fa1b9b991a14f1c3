// How a tensor's values stand for numbers: x = (q - zero_point) · scale. docs/formats.md#affine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/quantization.hpp"

namespace anybit::lower {

struct Parameters {
  graph::ElementType type = graph::ElementType::int8;
  std::vector<float> scales = {};              // one, or one for each channel or block
  std::vector<std::int32_t> zero_points = {};  // as many; none: all are zero
  std::vector<std::int64_t> dims = {};         // of the scales; none: one for the whole tensor
  std::int64_t axis = 0;                       // along which the scales change
  std::int64_t block_size = 0;  // values along the axis that share one; 0: channels, not blocks

  bool per_tensor() const { return dims.empty(); }
  friend bool operator==(const Parameters&, const Parameters&) = default;
};

// Which scale belongs to an element: one for all, one for each index of the axis, or one for each block.
struct Places {
  std::int64_t length = 1, inner = 1, block = 0, blocks = 1;
  bool single = true;

  Places() = default;
  // The axis must be one of the dimensions, unless there is one scale for all.
  Places(std::span<const std::int64_t> dims, std::int64_t axis, std::int64_t block_size);
  Places(std::span<const std::int64_t> dims, const Parameters& of)
      : Places(of.per_tensor() ? Places() : Places(dims, of.axis, of.block_size)) {}
  std::int64_t of(std::int64_t i) const {
    if (single) return 0;
    const std::int64_t index = i / inner % length;
    return block == 0 ? index : (i / inner / length * blocks + index / block) * inner + i % inner;
  }
};

// The dimensions that codes are stored in, of a tensor of `dims` whose values were grouped in `grouped`: its
// own if the scales lie over those as they do over the others, else `grouped`. Fits the parameters to them.
std::vector<std::int64_t> fit(Parameters& parameters, const std::vector<std::int64_t>& grouped,
                              const std::vector<std::int64_t>& dims);

// The opset whose QuantizeLinear and DequantizeLinear know a type, with such scales.
std::int64_t opset_of(graph::ElementType type, bool by_channel, bool by_block);

// Codes of at most 8 bits, a byte each, into `bits` of each: the first in the lowest.
Bytes pack(std::vector<std::uint8_t> codes, int bits);

// As constants of a model. Codes of a float are its bits. Those of less than 8 bits are packed.
graph::Tensor scale_tensor(const Parameters& of, std::string name);
graph::Tensor zero_point_tensor(const Parameters& of, std::string name);
graph::Tensor code_tensor(graph::ElementType type, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int32_t>& codes, std::string name);

}  // namespace anybit::lower
