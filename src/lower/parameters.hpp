// Quantization parameters: x = (q - zero_point) · scale. docs/formats.md#affine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/quantization.hpp"

namespace anybit::lower {

struct Parameters {
  graph::ElementType type = graph::ElementType::int8;
  std::vector<float> scales = {};              // one, or one per channel or block
  std::vector<std::int32_t> zero_points = {};  // as many; empty: all zero
  std::vector<std::int64_t> dims = {};         // of the scales; empty: per tensor
  std::int64_t axis = 0;                       // the axis of channels or blocks
  std::int64_t block_size = 0;                 // elements per block along the axis; 0: per channel

  bool per_tensor() const { return dims.empty(); }
  friend bool operator==(const Parameters&, const Parameters&) = default;
};

// Maps an element's index to that of its scale: per tensor, per channel or per block.
struct Places {
  std::int64_t length = 1, inner = 1, block = 0, blocks = 1;
  bool single = true;

  Places() = default;
  // Requires a valid axis unless there is a single scale.
  Places(std::span<const std::int64_t> dims, std::int64_t axis, std::int64_t block_size);
  Places(std::span<const std::int64_t> dims, const Parameters& of)
      : Places(of.per_tensor() ? Places() : Places(dims, of.axis, of.block_size)) {}
  std::int64_t of(std::int64_t i) const {
    if (single) return 0;
    const std::int64_t index = i / inner % length;
    return block == 0 ? index : (i / inner / length * blocks + index / block) * inner + i % inner;
  }
};

// Returns the dimensions that quantized values are stored in, for a tensor of `dims` that was quantized as
// `grouped`: `dims` if the scales have the same layout over both, else `grouped`. Adapts the parameters to
// them.
std::vector<std::int64_t> fit(Parameters& parameters, const std::vector<std::int64_t>& grouped,
                              const std::vector<std::int64_t>& dims);

// The opset whose QuantizeLinear and DequantizeLinear support a type at this granularity.
std::int64_t opset_of(graph::ElementType type, bool by_channel, bool by_block);

// Packs values of at most 8 bits, one per byte, to `bits` each, least significant bits first.
Bytes pack(std::vector<std::uint8_t> values, int bits);

// Builds constants of a model. Floating-point values are given as their bits. Types below 8 bits are packed.
graph::Tensor scale_tensor(const Parameters& of, std::string name);
graph::Tensor zero_point_tensor(const Parameters& of, std::string name);
graph::Tensor code_tensor(graph::ElementType type, const std::vector<std::int64_t>& dims,
                          const std::vector<std::int32_t>& values, std::string name);

}  // namespace anybit::lower
