// What quantization asks of an operator: which inputs are data, weight and bias, and what becomes of the
// values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/model.hpp"

namespace anybit::ops {

// Where the output channels lie in a weight of this rank.
using ChannelAxis = std::int64_t (*)(const graph::Node& node, std::size_t rank);

struct Traits {
  enum class Role : std::uint8_t {
    none,     // stays in float, with all that it takes and makes
    compute,  // takes quantized values, and makes others: Conv, MatMul, Add, AveragePool
    move,  // what goes in comes out, in other places: Reshape, MaxPool, Concat. In and out share parameters
    element,  // a function of each element by itself: Sigmoid, Clip, Div. Chains of them are quantized as one
  };
  struct Range {
    float low, high;
  };

  Role role = Role::none;
  std::vector<int> data = {0};  // inputs that are data; {-1}: all of them
  int weight = -1;              // data too, but if it is constant it is a weight
  int bias = -1;
  ChannelAxis channel_axis = nullptr;  // of the weight; nothing: it has no channels
  std::optional<Range> range = {};     // of the output, whatever goes in
  bool clamps = false;                 // only cuts values off: one with what makes its input (Relu, Clip)
};

}  // namespace anybit::ops
