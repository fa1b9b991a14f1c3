#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

struct Sizes {
  std::int64_t batch, channels, space;
};

Sizes sizes_of(const Dims& dims) { return {dims[0], dims[1], dims.product(2, dims.size())}; }

// Where an element of channel c and place s lies within its image.
std::int64_t place(Layout layout, const Sizes& sizes, std::int64_t c, std::int64_t s) {
  switch (layout) {
    case Layout::channels_last:
      return s * sizes.channels + c;
    case Layout::blocked8:
      return ((c / 8) * sizes.space + s) * 8 + c % 8;
    case Layout::plain:
      break;
  }
  return c * sizes.space + s;
}

std::int64_t image(Layout layout, const Sizes& sizes) {
  const std::int64_t channels = layout == Layout::blocked8 ? (sizes.channels + 7) / 8 * 8 : sizes.channels;
  return channels * sizes.space;
}

template <class T>
void relay_as(const Array& from, Array& to) {
  const Sizes sizes = sizes_of(from.dims());
  if (to.layout() == Layout::blocked8) std::ranges::fill(to.elements<T>(), T());
  for (std::int64_t n = 0; n < sizes.batch; ++n) {
    const T* source = from.data<T>() + n * image(from.layout(), sizes);
    T* target = to.mutable_data<T>() + n * image(to.layout(), sizes);
    for (std::int64_t c = 0; c < sizes.channels; ++c) {
      for (std::int64_t s = 0; s < sizes.space; ++s) {
        target[place(to.layout(), sizes, c, s)] = source[place(from.layout(), sizes, c, s)];
      }
    }
  }
}

}  // namespace

void relay(const Array& from, Array& to) {
  for_moved(from.type(), [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, std::string>) relay_as<T>(from, to);
  });
}

}  // namespace anybit::ops
