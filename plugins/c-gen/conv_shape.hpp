// Shapes of convolutions over two spatial axes, and how the pixels of the output are cut for tiles.
#pragma once

#include "tiles.hpp"
#include "window.hpp"

namespace anybit::cgen {

struct ConvShape {
  std::int64_t batch = 1, groups = 1;
  std::int64_t channels = 1, outputs = 1;  // of a group
  Window space = {};                       // three axes; those that the tensors lack have size 1

  std::int64_t taps() const { return space[0].kernel * space[1].kernel * space[2].kernel; }
  std::int64_t depth() const { return channels * taps(); }
  std::int64_t inputs_of_plane() const { return space[0].input * space[1].input * space[2].input; }
  std::int64_t outputs_of_plane() const { return space[0].output * space[1].output * space[2].output; }
  bool flat() const { return space[0].kernel == 1 && space[0].input == 1 && space[0].output == 1; }
  // Each output pixel is made of the input's pixel at the same place.
  bool pointwise() const;
};

// Of the node that has input 0 and weights [outputs, channels of a group, kernel…].
ConvShape conv_shape(const Node& node, const Value& weights);

// The input with its padding.
struct Padded {
  std::int64_t height, width;
};
Padded padded_of(const ConvShape& conv);

// Chunks of 16, 8 or 4 pixels of the same row. Where they do not fit a row, the last two overlap; a row that
// is shorter than a chunk has one that is not filled.
struct Cut {
  std::int64_t rows, width;  // of the output; one row if the input is taken as it is
  std::int64_t chunk = 4;    // pixels
  std::int64_t in_row() const { return (width + chunk - 1) / chunk; }
  std::int64_t count() const { return rows * in_row(); }
  std::int64_t in_tile() const { return kTileColumns / chunk; }
};
Cut cut_of(std::int64_t rows, std::int64_t width);
// C that tells where chunk `number` lies: to[q] in the output and, unless the input is taken as it is,
// from[q] in the padded input.
void emit_chunk(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is);
// Where the chunks of a block lie that begins with chunk `first`: how many are `left`, in how many `tiles`.
void emit_places(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is, std::int64_t chunks);

}  // namespace anybit::cgen
