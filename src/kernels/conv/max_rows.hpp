// One row of a max pooling of float32: first the largest values of the window's rows, then along the row.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/conv/window.hpp"

namespace anybit::kernels {

// Floats that `line` must hold for a row of this axis. Those outside the input must be -∞.
std::int64_t max_line_size(const WindowAxis& axis, std::int64_t lanes);
// `rows`: the rows of the input inside the window, each [axis.input][lanes]. Writes [axis.output][lanes]. NaN
// propagates.
void max_row(std::span<const float* const> rows, const WindowAxis& axis, std::int64_t lanes, float* line,
             float* out);

}  // namespace anybit::kernels
