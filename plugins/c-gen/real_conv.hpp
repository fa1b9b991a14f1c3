// Convolution of float32 in tiles: where speed counts more than memory.
#pragma once

#include "conv_shape.hpp"

namespace anybit::cgen {

// Whether tiles are worth it, and their memory may be taken.
bool suits_tiles(const Node& node, const ConvShape& conv);
// Conv and FusedConv. `activation`: the expression of the sum x; empty if there is none.
void emit_tiled_real_conv(Node& node, const ConvShape& conv, const std::string& activation);

}  // namespace anybit::cgen
