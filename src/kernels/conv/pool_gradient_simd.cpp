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

// Calls body(offset of the input) for the taps of one output that are inside the input, in order.
template <class Body>
HWY_INLINE void EachTap(const Window& window, std::int64_t od, std::int64_t oh, std::int64_t ow,
                        std::int64_t lanes, const Body& body) {
  const auto& [d, h, w] = window;
  const Range depth = taps_inside(d, od), height = taps_inside(h, oh), width = taps_inside(w, ow);
  const std::int64_t from = start_of(w, ow);
  for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
    for (std::int64_t kh = height.first; kh < height.last; ++kh) {
      const std::int64_t row =
          ((start_of(d, od) + kd * d.dilation) * h.input + start_of(h, oh) + kh * h.dilation) * w.input;
      for (std::int64_t kw = width.first; kw < width.last; ++kw) body((row + from + kw * w.dilation) * lanes);
    }
  }
}

// Calls body(output, od, oh, ow) for the outputs of one map, in order.
template <class Body>
HWY_INLINE void EachOutput(const Window& window, const Body& body) {
  std::int64_t at = 0;
  for (std::int64_t od = 0; od < window[0].output; ++od) {
    for (std::int64_t oh = 0; oh < window[1].output; ++oh) {
      for (std::int64_t ow = 0; ow < window[2].output; ++ow) body(at++, od, oh, ow);
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

// The window is read twice: for its maximum, then for the first input that equals it. NaN wins over numbers.
template <class D, class T>
HWY_INLINE void SendToMaximum(D d, const Window& window, std::int64_t lanes, std::int64_t od, std::int64_t oh,
                              std::int64_t ow, const T* dy, const T* x, T* dx) {
  using V = hn::Vec<D>;
  V most = hn::Set(d, -std::numeric_limits<T>::infinity());
  EachTap(window, od, oh, ow, lanes, [&](std::int64_t at) HWY_ATTR {
    const V value = hn::LoadU(d, x + at);
    most = hn::IfThenElse(hn::Or(hn::Gt(value, most), hn::IsNaN(value)), value, most);
  });
  V left = hn::LoadU(d, dy);  // zero once it has been given away
  const auto none = hn::IsNaN(most);
  EachTap(window, od, oh, ow, lanes, [&](std::int64_t at) HWY_ATTR {
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
               [&](std::int64_t at, std::int64_t od, std::int64_t oh, std::int64_t ow) HWY_ATTR {
                 EachLane<T>(lanes, [&](auto d, std::int64_t lane) HWY_ATTR {
                   SendToMaximum(d, sizes.window, lanes, od, oh, ow, dy + map * out + at * lanes + lane,
                                 x + map * in + lane, to + lane);
                 });
               });
  }
}

template <class T>
HWY_INLINE void SpreadAll(const PoolSizes& sizes, bool include_padding, const T* dy, std::int64_t first,
                          std::int64_t last, T* dx) {
  const std::int64_t lanes = sizes.lanes, in = input_size(sizes.window) * lanes,
                     out = output_size(sizes.window) * lanes;
  for (std::int64_t map = first; map < last; ++map) {
    T* const to = dx + map * in;
    std::fill_n(to, in, T(0));
    EachOutput(
        sizes.window, [&](std::int64_t at, std::int64_t od, std::int64_t oh, std::int64_t ow) HWY_ATTR {
          const std::int64_t count = pool_count(sizes.window, include_padding, od, oh, ow);
          const T divisor = static_cast<T>(std::max<std::int64_t>(count, 1));
          EachLane<T>(lanes, [&](auto d, std::int64_t lane) HWY_ATTR {
            const auto share = hn::Div(hn::LoadU(d, dy + map * out + at * lanes + lane), hn::Set(d, divisor));
            EachTap(sizes.window, od, oh, ow, lanes, [&](std::int64_t place) HWY_ATTR {
              T* const sum = to + lane + place;
              hn::StoreU(hn::Add(hn::LoadU(d, sum), share), d, sum);
            });
          });
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

HWY_EXPORT(MaxFloat);
HWY_EXPORT(MaxDouble);
HWY_EXPORT(AverageFloats);
HWY_EXPORT(AverageDoubles);

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
