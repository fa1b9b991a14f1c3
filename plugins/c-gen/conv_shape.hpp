// Shapes of 2-D convolutions, and the partition of output pixels into tiles.
#pragma once

#include "tiles.hpp"
#include "window.hpp"

namespace anybit::cgen {

struct ConvShape {
  std::int64_t batch = 1, groups = 1;
  std::int64_t channels = 1, outputs = 1;  // per group
  Window space = {};                       // three axes; missing axes have size 1

  std::int64_t taps() const { return space[0].kernel * space[1].kernel * space[2].kernel; }
  std::int64_t depth() const { return channels * taps(); }
  std::int64_t inputs_of_plane() const { return space[0].input * space[1].input * space[2].input; }
  std::int64_t outputs_of_plane() const { return space[0].output * space[1].output * space[2].output; }
  bool flat() const { return space[0].kernel == 1 && space[0].input == 1 && space[0].output == 1; }
  // A pointwise convolution: each output pixel reads the input pixel at the same position.
  bool pointwise() const;
};

// The shape of the node with input 0 and weights [outputs, channels per group, kernel…].
ConvShape conv_shape(const Node& node, const Value& weights);

// The shape of the padded input.
struct Padded {
  std::int64_t height, width;
};
Padded padded_of(const ConvShape& conv);

// Chunks of 16, 8 or 4 pixels of one row. If the row length is no multiple of the chunk, the last two chunks
// overlap; a row that is shorter than a chunk has one partial chunk.
struct Cut {
  std::int64_t rows, width;  // of the output; one row if the input is read directly
  std::int64_t chunk = 4;    // pixels
  std::int64_t in_row() const { return (width + chunk - 1) / chunk; }
  std::int64_t count() const { return rows * in_row(); }
  std::int64_t in_tile() const { return kTileColumns / chunk; }
};
Cut cut_of(std::int64_t rows, std::int64_t width);
// C code for the position of chunk `number`: to[q] in the output and, unless the input is read directly,
// from[q] in the padded input.
void emit_chunk(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is);
// C code for the positions of a block that begins with chunk `first`: `left` chunks in `tiles` tiles.
void emit_places(Node& node, const ConvShape& conv, const Cut& cut, bool as_it_is, std::int64_t chunks);

}  // namespace anybit::cgen
