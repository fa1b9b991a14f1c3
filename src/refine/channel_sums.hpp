// Sums and single values of the channels of an array, in any layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/array.hpp"

namespace anybit::quantizing {

constexpr std::int64_t kMostPicked = 64;  // places

struct ChannelSums {
  std::vector<double> channels;  // over all other axes; empty: not available
  std::int64_t places = 0;
  // Rows with the values of all channels at some places, the same for arrays of the same dims.
  std::vector<float> picked;
};

// The channels are the second axis if `channels_first`, otherwise the last.
ChannelSums sums_of(const ops::Datum& value, bool channels_first, bool pick);
// Adds a shift to every channel.
void shift_channels(ops::Array& array, bool channels_first, std::span<const double> shift);

}  // namespace anybit::quantizing
