// Tiles of float convolution with vectors of 16 lanes (AVX-512): the same fused multiply-adds in the same
// order as with narrower vectors, so bit-identical results.
#pragma once

#include "kernels/conv/conv_tile.hpp"

namespace anybit::kernels {

// `count` positions by `blocks` blocks of 8 output channels, 1 to 4; two panels if more than 2.
void conv_tile_avx512(const ConvTile& tile, int count, int blocks);

}  // namespace anybit::kernels
