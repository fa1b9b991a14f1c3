// What tiled convolutions by pairs of 16-bit numbers and by four bytes share.
#pragma once

#include "integer_conv.hpp"

namespace anybit::cgen {

// How the output is cut, and memory: pointers to 16-bit numbers.
struct TiledConv {
  Cut cut;
  bool as_it_is;  // a pointwise one that needs no padded copy of its input
  std::int64_t block_bytes = 0;
  std::string block = {};   // for gathered pixels
  std::string padded = {};  // the input with its padding
  std::string rows = {};    // for the rows of weights that are multiplied at once, if they are made
  std::string wide = {};    // weights less their zero points as 16-bit constants, if there are such
};

// The same convolution with the lowest code as the zero point of the input, so that unsigned bytes are
// multiplied by signed ones; nothing if it cannot be so.
std::optional<IntegerConv> of_bytes(const Node& node, const IntegerConv& conv);
// How many bytes emit_quads_conv needs at `rows`.
std::int64_t quad_rows_bytes(const Node& node, const IntegerConv& conv, const TiledConv& how);
// A convolution of bytes by the tiles of quads.hpp.
void emit_quads_conv(Node& node, const IntegerConv& conv, const TiledConv& how);

// Opens a loop over rows of weights, up to `most` at a time: the first is `o` of its group and `channel` of
// all, and there are `filled`. Where speed counts, they are shared out evenly.
void open_rows(Node& node, const IntegerConv& conv, std::int64_t most);
// sizes of gather_16 and its kin.
std::vector<std::int32_t> gather_sizes(const IntegerConv& conv);
// The `sums` of tile `t` become codes of the output.
void emit_finish(Node& node, const IntegerConv& conv, const Cut& cut, const std::string& finish);

}  // namespace anybit::cgen
