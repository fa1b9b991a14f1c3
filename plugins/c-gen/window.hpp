// Sliding windows over the spatial axes of [batch, channels, space…], shared by convolutions and pools.
#pragma once

#include <vector>

#include "node.hpp"

namespace anybit::cgen {

struct WindowAxis {
  std::int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  // Outputs [from, to) whose windows are inside of the input.
  std::int64_t inside_from() const;
  std::int64_t inside_to() const;
};

using Window = std::vector<WindowAxis>;

// From input `in` to output `out`; `kernel` has a size per spatial axis.
Window window_of(const Node& node, const Value& in, const Value& out, const Dims& kernel);

// In C: where element `k` of the window at output `o` reads, on axis `i`; "" if it cannot be outside.
std::string place_in(const WindowAxis& axis, std::string_view o, std::string_view k);
std::string outside(const WindowAxis& axis, std::string_view place);

}  // namespace anybit::cgen
