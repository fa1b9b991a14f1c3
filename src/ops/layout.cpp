#include "ops/layout.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/move/layout_transform.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kPartBytes = 128 << 10;  // worth a task of its own

struct Sizes {
  std::int64_t batch, channels, space;
};

Sizes sizes_of(const Dims& dims) { return {dims[0], dims[1], dims.product(2, dims.size())}; }

std::int64_t image(Layout layout, const Sizes& sizes) {
  const std::int64_t channels = layout == Layout::blocked8 ? (sizes.channels + 7) / 8 * 8 : sizes.channels;
  return channels * sizes.space;
}

// Channels [c, c + count), all in one block of 8: transposes rows of positions to positions of channels, or
// back.
template <class T>
struct Mover {
  const Sizes& sizes;
  Layout from, to;

  T* at(Layout layout, T* image, std::int64_t c) const {
    return layout == Layout::channels_last ? image + c : image + c * sizes.space;
  }
  std::int64_t stride(Layout layout) const {
    return layout == Layout::plain ? sizes.space : layout == Layout::blocked8 ? 8 : sizes.channels;
  }

  void move(const T* source_image, T* target_image, std::int64_t c, std::int64_t count) const {
    const T* source = at(from, const_cast<T*>(source_image), c);
    T* target = at(to, target_image, c);
    if (from == Layout::plain) {
      kernels::transpose_tiles(count, sizes.space, source, stride(from), target, stride(to));
    } else if (to == Layout::plain) {
      kernels::transpose_tiles(sizes.space, count, source, stride(from), target, stride(to));
    } else {
      for (std::int64_t s = 0; s < sizes.space; ++s) {
        std::copy_n(source + s * stride(from), count, target + s * stride(to));
      }
    }
    if (to == Layout::blocked8 && count < 8) {
      for (std::int64_t s = 0; s < sizes.space; ++s)
        std::fill(target + s * 8 + count, target + s * 8 + 8, T());
    }
  }
};

template <class T>
void transposed_as(const Array& from, Array& to, ThreadPool* pool) {
  const Sizes sizes = sizes_of(from.dims());
  const Mover<T> mover{sizes, from.layout(), to.layout()};
  const bool blocked = from.layout() == Layout::blocked8 || to.layout() == Layout::blocked8;
  // Between plain and channels_last, more channels at once make use of full cache lines.
  const std::int64_t step = blocked ? 8 : 64;
  const std::int64_t steps = (sizes.channels + step - 1) / step;
  const auto body = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t n = i / steps, c = i % steps * step;
      mover.move(from.data<T>() + n * image(from.layout(), sizes),
                 to.mutable_data<T>() + n * image(to.layout(), sizes), c, std::min(step, sizes.channels - c));
    }
  };
  const std::int64_t bytes = step * sizes.space * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t chunk = std::max<std::int64_t>(1, kPartBytes / std::max<std::int64_t>(bytes, 1));
  if (pool) {
    pool->run(sizes.batch * steps, chunk, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
  } else {
    body(0, sizes.batch * steps);
  }
}

}  // namespace

void convert_layout(const Array& from, Array& to, ThreadPool* pool) {
  if (from.count() == 0) return;
  if (from.layout() == to.layout()) {
    std::memcpy(to.mutable_bytes(), from.bytes(), from.byte_count());
    return;
  }
  for_copied(from.type(), [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, std::string>) transposed_as<T>(from, to, pool);
  });
}

Result<Array> scratch_array(Frame& frame, ElementType type, const Dims& dims, Layout layout) {
  std::byte* memory = TRY(frame.scratch(TRY(array_bytes(type, dims, layout))));
  return Array::over(type, dims, memory, {}, layout);
}

Result<Array> in_layout(Frame& frame, const Array& array, Layout layout) {
  if (array.layout() == layout) return array;
  const bool even = array.rank() >= 2 && array.dim(1) % 8 == 0;
  const bool one_place = array.rank() >= 2 && array.dims().product(2, array.rank()) == 1;
  if (one_place && even) {
    return Array::over(array.type(), array.dims(), const_cast<std::byte*>(array.bytes()), {}, layout);
  }
  Array copy = TRY(scratch_array(frame, array.type(), array.dims(), layout));
  convert_layout(array, copy, &frame.pool());
  return copy;
}

void clear_padding(Array& array) {
  if (array.layout() != Layout::blocked8 || array.dim(1) % 8 == 0) return;
  const std::int64_t channels = array.dim(1), blocks = (channels + 7) / 8;
  const std::int64_t space = array.dims().product(2, array.rank());
  const auto used = static_cast<std::size_t>(channels % 8), size = element_bytes(array.type());
  for (std::int64_t n = 0; n < array.dim(0); ++n) {
    const std::int64_t last = ((n + 1) * blocks - 1) * space;  // in blocks of 8
    for (std::int64_t s = 0; s < space; ++s) {
      std::byte* eight = array.mutable_bytes() + static_cast<std::size_t>((last + s) * 8) * size;
      std::memset(eight + used * size, 0, (8 - used) * size);
    }
  }
}

}  // namespace anybit::ops
