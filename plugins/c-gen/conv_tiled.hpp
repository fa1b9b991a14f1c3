// Shared parts of tiled convolutions by pairs of int16 and by dot4.
#pragma once

#include "integer_conv.hpp"

namespace anybit::cgen {

// The partition of the output, and scratch memory: pointers to int16.
struct TiledConv {
  Cut cut;
  bool as_it_is;  // pointwise, and reads the input without a padded copy
  std::int64_t block_bytes = 0;
  std::string block = {};   // for gathered pixels
  std::string padded = {};  // the padded input
  std::string rows = {};    // for the weights of a tile, if they are widened at run time
  std::string wide = {};    // weights minus zero points as int16 constants, if used
};

// The same convolution with the lowest integer as the zero point of the input, so that unsigned bytes are
// multiplied by signed ones; empty if that is not possible.
std::optional<IntegerConv> of_bytes(const Node& node, const IntegerConv& conv);
// The number of bytes that emit_dot4_conv needs at `rows`.
std::int64_t dot4_rows_bytes(const Node& node, const IntegerConv& conv, const TiledConv& how);
// A convolution of bytes by the dot4 tiles of vnni.hpp.
void emit_dot4_conv(Node& node, const IntegerConv& conv, const TiledConv& how);

// Opens a loop over rows of weights, up to `most` at a time: `o` is the first row of its group, `channel` of
// all, and `filled` the number of rows. With the preference performance rows are distributed evenly.
void open_rows(Node& node, const IntegerConv& conv, std::int64_t most);
// The sizes argument of gather_16 and related helpers.
std::vector<std::int32_t> gather_sizes(const IntegerConv& conv);
// Requantizes the `sums` of tile `t` to elements of the output.
void emit_finish(Node& node, const IntegerConv& conv, const Cut& cut, const std::string& finish);

}  // namespace anybit::cgen
