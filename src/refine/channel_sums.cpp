#include "refine/channel_sums.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace anybit::quantizing {
namespace {

// The layout of channels in an array: `outer` rows of `inner` elements at stride `place`.
struct Channels {
  std::int64_t count = 0, outer = 1, inner = 1;
  // strides of a channel, of a group of eight channels, and of a position
  std::int64_t channel = 1, group = 8, place = 1;

  static std::optional<Channels> of(const ops::Array& array, bool first) {
    if (array.type() != graph::ElementType::float32 || array.rank() < (first ? 2U : 1U)) return std::nullopt;
    const std::size_t axis = first ? 1 : array.rank() - 1;
    Channels found{.count = array.dim(axis)};
    for (std::size_t i = 0; i < axis; ++i) found.outer *= array.dim(i);
    if (array.count() == 0 || (!first && array.layout() != ops::Layout::plain)) return std::nullopt;
    found.inner = array.count() / (found.outer * found.count);
    if (array.layout() == ops::Layout::plain) found.channel = found.inner, found.group = 8 * found.inner;
    if (array.layout() == ops::Layout::channels_last) found.place = found.count;
    if (array.layout() == ops::Layout::blocked8) found.group = 8 * found.inner, found.place = 8;
    return found;
  }

  // The location of an element; places count over all axes but the channels'.
  std::int64_t at(std::int64_t at_place, std::int64_t c) const {
    return at_place / inner * count * inner + c / 8 * group + c % 8 * channel + at_place % inner * place;
  }

  // Whether the channels of a place are neighbours, and rows of them follow each other.
  bool in_rows() const { return channel == 1 && (place == count || inner == 1); }

  // Calls see(first channel, up to eight, elements) for groups of eight channels.
  template <class T, class See>
  void each(T* numbers, See see) const {
    for (std::int64_t n = 0; n < outer; ++n, numbers += count * inner) {
      for (std::int64_t c = 0; c < count; c += 8)
        see(c, std::min<std::int64_t>(count - c, 8), numbers + c / 8 * group);
    }
  }
};

// Steps of the golden ratio: any number of places is spread evenly, whatever the widths of the axes are.
std::int64_t picked_place(std::int64_t k, std::int64_t places) {
  if (places <= kMostPicked) return k;
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B9;  // times 2^32
  const std::uint64_t turn = static_cast<std::uint64_t>(k + 1) * kGoldenRatio & 0xFFFFFFFF;
  return static_cast<std::int64_t>(static_cast<double>(turn) / 0x1p32 * static_cast<double>(places));
}

void add_row(const float* x, std::int64_t count, double* totals) {
  for (std::int64_t c = 0; c < count; ++c) totals[c] += static_cast<double>(x[c]);
}

void shift_row(float* x, std::int64_t count, const float* by) {
  for (std::int64_t c = 0; c < count; ++c) x[c] += by[c];
}

std::vector<float> picked(const float* x, const Channels& channels) {
  const std::int64_t places = channels.outer * channels.inner;
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(std::min(places, kMostPicked) * channels.count));
  for (std::int64_t k = 0; k < std::min(places, kMostPicked); ++k) {
    const std::int64_t place = picked_place(k, places);
    for (std::int64_t c = 0; c < channels.count; ++c) values.push_back(x[channels.at(place, c)]);
  }
  return values;
}

}  // namespace

ChannelSums sums_of(const ops::Datum& value, bool channels_first, bool pick) {
  if (!value.is_array()) return {};
  const auto at = Channels::of(value.array, channels_first);
  if (!at) return {};
  ChannelSums sum{std::vector<double>(static_cast<std::size_t>(at->count)), at->outer * at->inner, {}};
  const float* values = value.array.data<float>();
  if (at->in_rows()) {
    for (std::int64_t i = 0; i < at->outer * at->inner; ++i)
      add_row(values + i * at->count, at->count, sum.channels.data());
  } else {
    at->each(values, [&](std::int64_t first, std::int64_t channels, const float* x) {
      double* totals = &sum.channels[static_cast<std::size_t>(first)];
      if (at->channel == 1) {
        double row[8] = {};  // a stored group has eight channels
        for (std::int64_t i = 0; i < at->inner; ++i) add_row(x + i * at->place, 8, row);
        for (std::int64_t c = 0; c < channels; ++c) totals[c] += row[c];
        return;
      }
      for (std::int64_t c = 0; c < channels; ++c) {
        double total = 0;
        for (std::int64_t i = 0; i < at->inner; ++i) total += static_cast<double>(x[c * at->channel + i]);
        totals[c] += total;
      }
    });
  }
  if (pick) sum.picked = picked(values, *at);
  return sum;
}

void shift_channels(ops::Array& array, bool channels_first, std::span<const double> shift) {
  if (std::ranges::all_of(shift, [](double one) { return one == 0; })) return;
  const auto at = Channels::of(array, channels_first);
  std::vector<float> by((shift.size() + 7) / 8 * 8);
  std::ranges::transform(shift, by.begin(), [](double one) { return static_cast<float>(one); });
  auto* values = array.mutable_data<float>();
  if (at->in_rows()) {
    for (std::int64_t i = 0; i < at->outer * at->inner; ++i)
      shift_row(values + i * at->count, at->count, by.data());
    return;
  }
  at->each(values, [&](std::int64_t first, std::int64_t channels, float* x) {
    const float* shifts = &by[static_cast<std::size_t>(first)];
    if (at->channel == 1) {
      for (std::int64_t i = 0; i < at->inner; ++i) shift_row(x + i * at->place, channels, shifts);
      return;
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < at->inner; ++i) x[c * at->channel + i] += shifts[c];
    }
  });
}

}  // namespace anybit::quantizing
