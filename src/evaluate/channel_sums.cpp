#include "evaluate/channel_sums.hpp"

#include <algorithm>
#include <cmath>

namespace anybit::evaluate {

void Decisions::add(const Decisions& other) {
  before += other.before;
  after += other.after;
  both += other.both;
}

void ChannelSums::add(std::span<const float> reference, std::span<const float> other) {
  difference.add(reference, other);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const float a = reference[i], b = other[i];
    if (!std::isfinite(a)) continue;
    low = std::min(low, a);
    high = std::max(high, a);
    if (a != 0) {
      const int exponent = std::ilogb(a);
      ++nonzero;
      exponents += exponent;
      squared_exponents += static_cast<double>(exponent) * exponent;
    }
    for (std::size_t t = 0; t < kThresholds.size(); ++t) {
      const bool mine = a > kThresholds[t], theirs = b > kThresholds[t];
      decisions[t].before += mine ? 1 : 0;
      decisions[t].after += theirs ? 1 : 0;
      decisions[t].both += mine && theirs ? 1 : 0;
    }
  }
}

void ChannelSums::add(const ChannelSums& other) {
  difference.add(other.difference);
  low = std::min(low, other.low);
  high = std::max(high, other.high);
  nonzero += other.nonzero;
  exponents += other.exponents;
  squared_exponents += other.squared_exponents;
  for (std::size_t t = 0; t < kThresholds.size(); ++t) decisions[t].add(other.decisions[t]);
}

double ChannelSums::mean_exponent() const {
  return nonzero > 0 ? exponents / static_cast<double>(nonzero) : 0;
}

double ChannelSums::spread_around(double centre) const {
  return squared_exponents - 2 * centre * exponents + static_cast<double>(nonzero) * centre * centre;
}

void AxisSums::add(std::span<const std::int64_t> dims, std::span<const float> reference,
                   std::span<const float> other) {
  const std::int64_t width = dims[axis_];
  usable_ = usable_ && width <= kMostChannels && (channels_.empty() || std::ssize(channels_) == width);
  if (!usable_) {
    channels_.clear();
    return;
  }
  channels_.resize(static_cast<std::size_t>(width));
  std::size_t inner = 1;
  for (std::size_t i = axis_ + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
  if (inner == 0) return;
  for (std::size_t at = 0, channel = 0; at < reference.size(); at += inner) {
    channels_[channel].add(reference.subspan(at, inner), other.subspan(at, inner));
    channel = channel + 1 == channels_.size() ? 0 : channel + 1;
  }
}

}  // namespace anybit::evaluate
