// Tiled float32 convolution, for speed at the cost of memory.
#pragma once

#include "conv_shape.hpp"

namespace anybit::cgen {

// Whether tiles pay off and their scratch memory is allowed.
bool suits_tiles(const Node& node, const ConvShape& conv);
// Conv and FusedConv. `activation`: an expression of the sum x; empty without activation.
void emit_tiled_real_conv(Node& node, const ConvShape& conv, const std::string& activation);

}  // namespace anybit::cgen
