// Where the channels, the height and the width of an image lie in an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "anybit/samples.hpp"

namespace anybit {

struct ImageLayout {
  std::size_t rank = 0, channel_axis = 0, height_axis = 0;
  std::int64_t channels = 0, height = 0, width = 0;  // 0: unknown

  bool channels_first() const { return channel_axis < height_axis; }
};

// `layout`: "NCHW", "NHWC", or empty: inferred from the input.
Result<ImageLayout> image_layout_of(const Port& port, const std::string& layout);

}  // namespace anybit
