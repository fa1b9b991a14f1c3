#include <algorithm>

#include "kernels/conv/pool_gradient.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/pool_gradient_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The taps of one axis that are inside the input, for an output. Most windows are inside as a whole: no
// divisions.
HWY_INLINE bool IsInside(const WindowAxis& axis, std::int64_t o) {
  const std::int64_t start = start_of(axis, o);
  return start >= 0 && start + (axis.kernel - 1) * axis.dilation < axis.input;
}
HWY_INLINE Range TapsOf(const WindowAxis& axis, std::int64_t o) {
  return IsInside(axis, o) ? Range{0, axis.kernel} : taps_inside(axis, o);
}

// One window on the input: the taps inside, and the offset of its first position.
struct Place {
  Range depth, height, width;
  std::int64_t id, ih, iw;
  bool inside;
};

// Calls body(offset of the input) for the taps of a window, in order.
template <class Body>
HWY_INLINE void EachTap(const Window& window, const Place& place, std::int64_t lanes, const Body& body) {
  const auto& [d, h, w] = window;
  for (std::int64_t kd = place.depth.first; kd < place.depth.last; ++kd) {
    for (std::int64_t kh = place.height.first; kh < place.height.last; ++kh) {
      const std::int64_t row =
          ((place.id + kd * d.dilation) * h.input + place.ih + kh * h.dilation) * w.input;
      for (std::int64_t kw = place.width.first; kw < place.width.last; ++kw)
        body((row + place.iw + kw * w.dilation) * lanes);
    }
  }
}

// Calls body(output, place, its coordinates) for the outputs of one map, in order.
template <class Body>
HWY_INLINE void EachOutput(const Window& window, const Body& body) {
  const auto& [d, h, w] = window;
  std::int64_t at = 0;
  for (std::int64_t od = 0; od < d.output; ++od) {
    for (std::int64_t oh = 0; oh < h.output; ++oh) {
      Place place{TapsOf(d, od), TapsOf(h, oh), {}, start_of(d, od), start_of(h, oh), 0, false};
      const bool inside = IsInside(d, od) && IsInside(h, oh);
      for (std::int64_t ow = 0; ow < w.output; ++ow) {
        place.width = TapsOf(w, ow);
        place.iw = start_of(w, ow);
        place.inside = inside && IsInside(w, ow);
        body(at++, place, od, oh, ow);
      }
    }
  }
}

// Full vectors of lanes, then one by one with `Scalar` vectors.
template <class T, class Body>
HWY_INLINE void EachLane(std::int64_t lanes, const Body& body) {
  const hn::CappedTag<T, 8> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t lane = 0;
  for (; lane + width <= lanes; lane += width) body(d, lane);
  for (; lane < lanes; ++lane) body(hn::CappedTag<T, 1>(), lane);
}

// NaN wins over numbers.
template <class D, class T>
HWY_INLINE hn::Vec<D> MaximumOf(D d, const Window& window, const Place& place, std::int64_t lanes,
                                const T* x) {
  hn::Vec<D> most = hn::Set(d, -std::numeric_limits<T>::infinity());
  EachTap(window, place, lanes, [&](std::int64_t at) HWY_ATTR {
    const hn::Vec<D> value = hn::LoadU(d, x + at);
    most = hn::IfThenElse(hn::Or(hn::Gt(value, most), hn::IsNaN(value)), value, most);
  });
  return most;
}

// The window is read twice: for its maximum, then for the first input that equals it.
template <class D, class T>
HWY_INLINE void SendToMaximum(D d, const Window& window, const Place& place, std::int64_t lanes, const T* dy,
                              const T* x, T* dx) {
  using V = hn::Vec<D>;
  const V most = MaximumOf(d, window, place, lanes, x);
  V left = hn::LoadU(d, dy);  // zero once it has been given away
  const auto none = hn::IsNaN(most);
  EachTap(window, place, lanes, [&](std::int64_t at) HWY_ATTR {
    const V value = hn::LoadU(d, x + at);
    const auto here = hn::Or(hn::Eq(value, most), hn::And(none, hn::IsNaN(value)));
    hn::StoreU(hn::Add(hn::LoadU(d, dx + at), hn::IfThenElseZero(here, left)), d, dx + at);
    left = hn::IfThenZeroElse(here, left);
  });
}

template <class T>
HWY_INLINE void SendAllToMaxima(const PoolSizes& sizes, const T* dy, const T* x, std::int64_t first,
                                std::int64_t last, T* dx) {
  const std::int64_t lanes = sizes.lanes, in = input_size(sizes.window) * lanes,
                     out = output_size(sizes.window) * lanes;
  for (std::int64_t map = first; map < last; ++map) {
    T* const to = dx + map * in;
    std::fill_n(to, in, T(0));
    EachOutput(sizes.window,
               [&](std::int64_t at, const Place& place, std::int64_t, std::int64_t, std::int64_t) HWY_ATTR {
                 EachLane<T>(lanes, [&](auto d, std::int64_t lane) HWY_ATTR {
                   SendToMaximum(d, sizes.window, place, lanes, dy + map * out + at * lanes + lane,
                                 x + map * in + lane, to + lane);
                 });
               });
  }
}

template <class T>
HWY_INLINE void SpreadAll(const PoolSizes& sizes, bool include_padding, const T* dy, std::int64_t first,
                          std::int64_t last, T* dx) {
  const Window& window = sizes.window;
  const std::int64_t lanes = sizes.lanes, in = input_size(window) * lanes, out = output_size(window) * lanes;
  for (std::int64_t map = first; map < last; ++map) {
    T* const to = dx + map * in;
    std::fill_n(to, in, T(0));
    EachOutput(window, [&](std::int64_t at, const Place& place, std::int64_t od, std::int64_t oh,
                           std::int64_t ow) HWY_ATTR {
      const std::int64_t count =
          place.inside ? kernel_size(window) : pool_count(window, include_padding, od, oh, ow);
      const T divisor = static_cast<T>(std::max<std::int64_t>(count, 1));
      EachLane<T>(lanes, [&](auto d, std::int64_t lane) HWY_ATTR {
        const auto share = hn::Div(hn::LoadU(d, dy + map * out + at * lanes + lane), hn::Set(d, divisor));
        EachTap(window, place, lanes, [&](std::int64_t tap) HWY_ATTR {
          T* const sum = to + lane + tap;
          hn::StoreU(hn::Add(hn::LoadU(d, sum), share), d, sum);
        });
      });
    });
  }
}

void MaximaOfLanes(const PoolSizes& sizes, const float* x, std::int64_t first, std::int64_t last, float* y) {
  const hn::CappedTag<float, 8> d;
  const std::int64_t lanes = sizes.lanes, in = input_size(sizes.window) * lanes,
                     out = output_size(sizes.window) * lanes;
  for (std::int64_t map = first; map < last; ++map) {
    EachOutput(sizes.window,
               [&](std::int64_t at, const Place& place, std::int64_t, std::int64_t, std::int64_t) HWY_ATTR {
                 for (std::int64_t lane = 0; lane < lanes; lane += static_cast<std::int64_t>(hn::Lanes(d))) {
                   hn::StoreU(MaximumOf(d, sizes.window, place, lanes, x + map * in + lane), d,
                              y + map * out + at * lanes + lane);
                 }
               });
  }
}

void MaxFloat(const PoolSizes& sizes, const float* dy, const float* x, std::int64_t first, std::int64_t last,
              float* dx) {
  SendAllToMaxima(sizes, dy, x, first, last, dx);
}
void MaxDouble(const PoolSizes& sizes, const double* dy, const double* x, std::int64_t first,
               std::int64_t last, double* dx) {
  SendAllToMaxima(sizes, dy, x, first, last, dx);
}
void AverageFloats(const PoolSizes& sizes, bool include, const float* dy, std::int64_t first,
                   std::int64_t last, float* dx) {
  SpreadAll(sizes, include, dy, first, last, dx);
}
void AverageDoubles(const PoolSizes& sizes, bool include, const double* dy, std::int64_t first,
                    std::int64_t last, double* dx) {
  SpreadAll(sizes, include, dy, first, last, dx);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(MaximaOfLanes);
HWY_EXPORT(MaxFloat);
HWY_EXPORT(MaxDouble);
HWY_EXPORT(AverageFloats);
HWY_EXPORT(AverageDoubles);

void max_pool_of_lanes(const PoolSizes& sizes, const float* x, std::int64_t first, std::int64_t last,
                       float* y) {
  HWY_DYNAMIC_DISPATCH(MaximaOfLanes)(sizes, x, first, last, y);
}

template <>
void max_pool_gradient(const PoolSizes& sizes, const float* dy, const float* x, std::int64_t first,
                       std::int64_t last, float* dx) {
  HWY_DYNAMIC_DISPATCH(MaxFloat)(sizes, dy, x, first, last, dx);
}
template <>
void max_pool_gradient(const PoolSizes& sizes, const double* dy, const double* x, std::int64_t first,
                       std::int64_t last, double* dx) {
  HWY_DYNAMIC_DISPATCH(MaxDouble)(sizes, dy, x, first, last, dx);
}
template <>
void average_pool_gradient(const PoolSizes& sizes, bool include_padding, const float* dy, std::int64_t first,
                           std::int64_t last, float* dx) {
  HWY_DYNAMIC_DISPATCH(AverageFloats)(sizes, include_padding, dy, first, last, dx);
}
template <>
void average_pool_gradient(const PoolSizes& sizes, bool include_padding, const double* dy, std::int64_t first,
                           std::int64_t last, double* dx) {
  HWY_DYNAMIC_DISPATCH(AverageDoubles)(sizes, include_padding, dy, first, last, dx);
}

}  // namespace anybit::kernels
#endif
