#include "kernels/conv/pool.hpp"

#include <cmath>
#include <limits>

#include "base/math.hpp"
#include "base/nan.hpp"
#include "kernels/conv/max_rows.hpp"

namespace anybit::kernels {
namespace {

constexpr std::int64_t kTile = 64;  // sums in flight

// The taps that are inside the padded input: taps past it, from ceil_mode, never count.
std::int64_t taps_padded(const WindowAxis& axis, std::int64_t o) {
  const std::int64_t room = axis.input + axis.after - start_of(axis, o);
  return std::clamp<std::int64_t>(ceil_quotient(room, axis.dilation), 0, axis.kernel);
}

// One row of outputs of a tensor with one lane: each tap is applied to the whole row.
template <class Acc, class T, class Add>
void add_row(const Window& window, std::int64_t od, std::int64_t oh, std::int64_t from, std::int64_t count,
             const T* map, Acc* sums, const Add& add) {
  const auto& [d, h, w] = window;
  const Range depth = taps_inside(d, od), height = taps_inside(h, oh);
  for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
    for (std::int64_t kh = height.first; kh < height.last; ++kh) {
      const T* row =
          map + ((start_of(d, od) + kd * d.dilation) * h.input + start_of(h, oh) + kh * h.dilation) * w.input;
      for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
        const Range inside = outputs_inside(w, kw);
        const std::int64_t first = std::max(inside.first, from), last = std::min(inside.last, from + count);
        const T* shifted = row + kw * w.dilation - w.before;
        for (std::int64_t o = first; o < last; ++o) add(sums[o - from], shifted[o * w.stride]);
      }
    }
  }
}

// One output of `count` lanes: each tap is applied to all lanes.
template <class Acc, class T, class Add>
void add_lanes(const PoolSizes& sizes, std::int64_t od, std::int64_t oh, std::int64_t ow, std::int64_t lane,
               std::int64_t count, const T* map, Acc* sums, const Add& add) {
  const auto& [d, h, w] = sizes.window;
  const Range depth = taps_inside(d, od), height = taps_inside(h, oh), width = taps_inside(w, ow);
  for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
    for (std::int64_t kh = height.first; kh < height.last; ++kh) {
      const std::int64_t row =
          (start_of(d, od) + kd * d.dilation) * h.input + start_of(h, oh) + kh * h.dilation;
      for (std::int64_t kw = width.first; kw < width.last; ++kw) {
        const T* place = map + (row * w.input + start_of(w, ow) + kw * w.dilation) * sizes.lanes + lane;
        for (std::int64_t i = 0; i < count; ++i) add(sums[i], place[i]);
      }
    }
  }
}

// begin: the initial value; done(sum, od, oh, ow) gives the output.
template <class Acc, class T, class Y, class Add, class Done>
void pool(const PoolSizes& sizes, const T* x, std::int64_t first, std::int64_t last, Y* y, Acc begin,
          const Add& add, const Done& done) {
  const Window& window = sizes.window;
  const std::int64_t width = window[2].output, space = input_size(window);
  Acc sums[kTile];
  for (std::int64_t row = first; row < last; ++row) {
    const std::int64_t oh = row % window[1].output, od = row / window[1].output % window[0].output;
    const T* map = x + row / (window[1].output * window[0].output) * space * sizes.lanes;
    Y* out = y + row * width * sizes.lanes;
    if (sizes.lanes == 1) {
      for (std::int64_t from = 0; from < width; from += kTile) {
        const std::int64_t count = std::min(kTile, width - from);
        std::fill_n(sums, count, begin);
        add_row(window, od, oh, from, count, map, sums, add);
        for (std::int64_t i = 0; i < count; ++i) out[from + i] = done(sums[i], od, oh, from + i);
      }
      continue;
    }
    for (std::int64_t ow = 0; ow < width; ++ow) {
      for (std::int64_t lane = 0; lane < sizes.lanes; lane += kTile) {
        const std::int64_t count = std::min(kTile, sizes.lanes - lane);
        std::fill_n(sums, count, begin);
        add_lanes(sizes, od, oh, ow, lane, count, map, sums, add);
        for (std::int64_t i = 0; i < count; ++i) out[ow * sizes.lanes + lane + i] = done(sums[i], od, oh, ow);
      }
    }
  }
}

template <class T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

}  // namespace

std::int64_t pool_count(const Window& window, bool include_padding, std::int64_t od, std::int64_t oh,
                        std::int64_t ow) {
  const std::int64_t at[] = {od, oh, ow};
  std::int64_t count = 1;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const Range inside = taps_inside(window[i], at[i]);
    count *= include_padding ? taps_padded(window[i], at[i]) : inside.last - inside.first;
  }
  return count;
}

template <class T>
void max_pool(const PoolSizes& sizes, const T* x, std::int64_t first, std::int64_t last, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (max_pool_fits_rows(sizes)) return max_pool_rows(sizes, x, first, last, y);
  }
  const auto add = [](T& most, T value) { most = value > most || is_nan(value) ? value : most; };
  pool(sizes, x, first, last, y, lowest<T>(), add,
       [](T most, std::int64_t, std::int64_t, std::int64_t) { return most; });
}

template <class T>
void average_pool(const PoolSizes& sizes, bool include_padding, const T* x, std::int64_t first,
                  std::int64_t last, T* y) {
  pool(
      sizes, x, first, last, y, T(0), [](T& sum, T value) { sum += value; },
      [&](T sum, std::int64_t od, std::int64_t oh, std::int64_t ow) {
        const std::int64_t count = pool_count(sizes.window, include_padding, od, oh, ow);
        return sum / static_cast<T>(std::max<std::int64_t>(count, 1));
      });
}

template <class T>
void lp_pool(const PoolSizes& sizes, double p, const T* x, std::int64_t first, std::int64_t last, T* y) {
  const auto power = static_cast<T>(p), root = static_cast<T>(1 / p);
  const auto done = [&](T sum, std::int64_t, std::int64_t, std::int64_t) {
    return p == 2 ? std::sqrt(sum) : p == 1 ? sum : math::pow(sum, root);
  };
  if (p == 2) {
    pool(
        sizes, x, first, last, y, T(0), [](T& sum, T value) { sum += value * value; }, done);
  } else if (p == 1) {
    pool(
        sizes, x, first, last, y, T(0), [](T& sum, T value) { sum += std::abs(value); }, done);
  } else {
    pool(
        sizes, x, first, last, y, T(0), [&](T& sum, T value) { sum += math::pow(std::abs(value), power); },
        done);
  }
}

template <class T>
void sum_pool(const PoolSizes& sizes, std::int32_t zero_point, const T* x, std::int64_t first,
              std::int64_t last, std::int64_t* sums) {
  const auto sum_as = [&]<class Sum>(Sum begin) {
    pool(
        sizes, x, first, last, sums, begin,
        [&](Sum& sum, T value) { sum += static_cast<std::int32_t>(value) - zero_point; },
        [](Sum sum, std::int64_t, std::int64_t, std::int64_t) { return std::int64_t{sum}; });
  };
  constexpr std::int64_t kLargest = std::numeric_limits<std::make_unsigned_t<T>>::max();
  if (kernel_size(sizes.window) <= INT32_MAX / kLargest) {
    sum_as(std::int32_t{0});
  } else {
    sum_as(std::int64_t{0});
  }
}

template <class T>
void mean_over(const T* x, std::int64_t space, std::int64_t lanes, T* y) {
  if (lanes == 1) {  // eight independent sums, for vectorization
    double sums[8] = {};
    const std::int64_t whole = space / 8 * 8;
    for (std::int64_t s = 0; s < whole; s += 8) {
      for (std::int64_t i = 0; i < 8; ++i) sums[i] += static_cast<double>(x[s + i]);
    }
    for (std::int64_t s = whole; s < space; ++s) sums[s - whole] += static_cast<double>(x[s]);
    double sum = 0;
    for (const double one : sums) sum += one;
    *y = static_cast<T>(sum / static_cast<double>(space));
    return;
  }
  double sums[kTile];
  for (std::int64_t lane = 0; lane < lanes; lane += kTile) {
    const std::int64_t count = std::min(kTile, lanes - lane);
    std::fill_n(sums, count, 0.0);
    for (std::int64_t s = 0; s < space; ++s) {
      for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[s * lanes + lane + i]);
    }
    for (std::int64_t i = 0; i < count; ++i)
      y[lane + i] = static_cast<T>(sums[i] / static_cast<double>(space));
  }
}

template <class T>
void most_over(const T* x, std::int64_t space, std::int64_t lanes, T* y) {
  std::fill_n(y, lanes, lowest<T>());
  for (std::int64_t s = 0; s < space; ++s) {
    for (std::int64_t i = 0; i < lanes; ++i) {
      const T value = x[s * lanes + i];
      y[i] = value > y[i] || is_nan(value) ? value : y[i];
    }
  }
}

template void mean_over(const float*, std::int64_t, std::int64_t, float*);
template void mean_over(const double*, std::int64_t, std::int64_t, double*);
template void most_over(const float*, std::int64_t, std::int64_t, float*);
template void most_over(const double*, std::int64_t, std::int64_t, double*);
template void most_over(const std::int8_t*, std::int64_t, std::int64_t, std::int8_t*);
template void most_over(const std::uint8_t*, std::int64_t, std::int64_t, std::uint8_t*);
template void most_over(const std::int16_t*, std::int64_t, std::int64_t, std::int16_t*);
template void most_over(const std::uint16_t*, std::int64_t, std::int64_t, std::uint16_t*);
template void max_pool(const PoolSizes&, const float*, std::int64_t, std::int64_t, float*);
template void max_pool(const PoolSizes&, const double*, std::int64_t, std::int64_t, double*);
template void max_pool(const PoolSizes&, const std::int8_t*, std::int64_t, std::int64_t, std::int8_t*);
template void max_pool(const PoolSizes&, const std::uint8_t*, std::int64_t, std::int64_t, std::uint8_t*);
template void max_pool(const PoolSizes&, const std::int16_t*, std::int64_t, std::int64_t, std::int16_t*);
template void max_pool(const PoolSizes&, const std::uint16_t*, std::int64_t, std::int64_t, std::uint16_t*);
template void average_pool(const PoolSizes&, bool, const float*, std::int64_t, std::int64_t, float*);
template void average_pool(const PoolSizes&, bool, const double*, std::int64_t, std::int64_t, double*);
template void lp_pool(const PoolSizes&, double, const float*, std::int64_t, std::int64_t, float*);
template void lp_pool(const PoolSizes&, double, const double*, std::int64_t, std::int64_t, double*);
template void sum_pool(const PoolSizes&, std::int32_t, const std::int8_t*, std::int64_t, std::int64_t,
                       std::int64_t*);
template void sum_pool(const PoolSizes&, std::int32_t, const std::uint8_t*, std::int64_t, std::int64_t,
                       std::int64_t*);
template void sum_pool(const PoolSizes&, std::int32_t, const std::int16_t*, std::int64_t, std::int64_t,
                       std::int64_t*);
template void sum_pool(const PoolSizes&, std::int32_t, const std::uint16_t*, std::int64_t, std::int64_t,
                       std::int64_t*);

}  // namespace anybit::kernels
