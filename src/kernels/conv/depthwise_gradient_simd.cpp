#include <algorithm>

#include "kernels/conv/depthwise_gradient.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise_gradient_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kLanes = 8;  // of a block
using DB = hn::CappedTag<float, kLanes>;
using VB = hn::Vec<DB>;

// Calls body(output row, input row, tap) for all pairs of rows that meet, tap by tap; a tap is the first of
// its row.
template <class Body>
HWY_INLINE void EachRows(const Window& window, const Body& body) {
  const auto& [d, h, w] = window;
  for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
    const Range depth = outputs_inside(d, kd);
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      const Range height = outputs_inside(h, kh);
      const std::int64_t tap = (kd * h.kernel + kh) * w.kernel;
      for (std::int64_t od = depth.first; od < depth.last; ++od) {
        const std::int64_t id = start_of(d, od) + kd * d.dilation;
        for (std::int64_t oh = height.first; oh < height.last; ++oh)
          body(od * h.output + oh, id * h.input + start_of(h, oh) + kh * h.dilation, tap);
      }
    }
  }
}

// The outputs for which each of some adjacent taps is inside the input, and those for which all are.
template <int Taps>
struct Inside {
  Inside(const WindowAxis& axis, std::int64_t from) : all{0, axis.output} {
    for (int k = 0; k < Taps; ++k) {
      one[k] = outputs_inside(axis, from + k);
      all = {std::max(all.first, one[k].first), std::min(all.last, one[k].last)};
    }
    if (all.last <= all.first) all = {0, 0};
  }
  Range one[Taps], all;
};

// The sums of `Taps` taps from `tap` on, with two accumulators each to hide latency.
template <int Taps>
struct TapSums {
  VB one[Taps], two[Taps];

  HWY_INLINE explicit TapSums(const float* from) {
    HWY_UNROLL(8)
    for (int k = 0; k < Taps; ++k) {
      one[k] = hn::LoadU(DB(), from + k * kLanes);
      two[k] = hn::Zero(DB());
    }
  }
  HWY_INLINE void store(float* to) const {
    HWY_UNROLL(8)
    for (int k = 0; k < Taps; ++k) hn::StoreU(hn::Add(one[k], two[k]), DB(), to + k * kLanes);
  }
  // Outputs [first, last), which some taps do not reach.
  HWY_INLINE void add_edge(const Inside<Taps>& inside, std::int64_t first, std::int64_t last, const float* dy,
                           const float* x, std::int64_t step, std::int64_t apart) {
    for (std::int64_t o = first; o < last; ++o) {
      const VB g = hn::LoadU(DB(), dy + o * kLanes);
      HWY_UNROLL(8)
      for (int k = 0; k < Taps; ++k) {
        if (o < inside.one[k].first || o >= inside.one[k].last) continue;
        one[k] = hn::MulAdd(g, hn::LoadU(DB(), x + o * step + k * apart), one[k]);
      }
    }
  }
  HWY_INLINE void add(Range outputs, const float* dy, const float* x, std::int64_t step, std::int64_t apart) {
    std::int64_t o = outputs.first;
    for (; o + 2 <= outputs.last; o += 2) {
      const VB g = hn::LoadU(DB(), dy + o * kLanes), h = hn::LoadU(DB(), dy + (o + 1) * kLanes);
      const float* from = x + o * step;
      HWY_UNROLL(8)
      for (int k = 0; k < Taps; ++k) {
        one[k] = hn::MulAdd(g, hn::LoadU(DB(), from + k * apart), one[k]);
        two[k] = hn::MulAdd(h, hn::LoadU(DB(), from + step + k * apart), two[k]);
      }
    }
    if (o == outputs.last) return;
    const VB g = hn::LoadU(DB(), dy + o * kLanes);
    HWY_UNROLL(8)
    for (int k = 0; k < Taps; ++k) one[k] = hn::MulAdd(g, hn::LoadU(DB(), x + o * step + k * apart), one[k]);
  }
};

// Taps [from, from + Taps) of each row of the window.
template <int Taps>
HWY_INLINE void AddTaps(const DepthwiseImages& images, const Window& window, std::int64_t from) {
  const auto& [d, h, w] = window;
  const Inside<Taps> inside(w, from);
  const std::int64_t step = w.stride * kLanes, apart = w.dilation * kLanes;
  const std::int64_t shift = (from * w.dilation - w.before) * kLanes;
  for (std::int64_t line = 0; line < d.kernel * h.kernel; ++line) {
    const std::int64_t kd = line / h.kernel, kh = line % h.kernel;
    const Range depth = outputs_inside(d, kd), height = outputs_inside(h, kh);
    for (std::int64_t lane = 0; lane < kLanes; lane += static_cast<std::int64_t>(hn::Lanes(DB()))) {
      float* const place = images.dw + (line * w.kernel + from) * kLanes + lane;
      TapSums<Taps> sums(place);
      for (std::int64_t n = 0; n < images.count; ++n) {
        for (std::int64_t od = depth.first; od < depth.last; ++od) {
          const std::int64_t id = start_of(d, od) + kd * d.dilation;
          for (std::int64_t oh = height.first; oh < height.last; ++oh) {
            const std::int64_t ih = start_of(h, oh) + kh * h.dilation;
            const float* dy =
                images.dy + n * images.dy_stride + (od * h.output + oh) * w.output * kLanes + lane;
            const float* x =
                images.x + n * images.x_stride + (id * h.input + ih) * w.input * kLanes + shift + lane;
            sums.add_edge(inside, 0, inside.all.first, dy, x, step, apart);
            sums.add(inside.all, dy, x, step, apart);
            sums.add_edge(inside, inside.all.last, w.output, dy, x, step, apart);
          }
        }
      }
      sums.store(place);
    }
  }
}

void ByWeight(const Window& window, const DepthwiseImages& images) {
  const std::int64_t width = window[2].kernel;
  if (width == 3) return AddTaps<3>(images, window, 0);
  if (width == 5) return AddTaps<5>(images, window, 0);
  for (std::int64_t k = 0; k < width; ++k) AddTaps<1>(images, window, k);
}

void ByInput(const Window& window, const float* dy, const float* w, float* dx) {
  const DB d;
  const WindowAxis& axis = window[2];
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::fill_n(dx, input_size(window) * kLanes, 0.0f);
  EachRows(window, [&](std::int64_t row, std::int64_t to, std::int64_t tap) HWY_ATTR {
    for (std::int64_t lane = 0; lane < kLanes; lane += lanes) {
      const float* gradients = dy + row * axis.output * kLanes + lane;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const VB weight = hn::LoadU(d, w + (tap + k) * kLanes + lane);
        const Range inside = outputs_inside(axis, k);
        float* sum =
            dx + (to * axis.input + start_of(axis, inside.first) + k * axis.dilation) * kLanes + lane;
        for (std::int64_t o = inside.first; o < inside.last; ++o, sum += axis.stride * kLanes)
          hn::StoreU(hn::MulAdd(weight, hn::LoadU(d, gradients + o * kLanes), hn::LoadU(d, sum)), d, sum);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(ByWeight);
HWY_EXPORT(ByInput);

void depthwise_gradient_by_weight(const Window& window, const DepthwiseImages& images) {
  HWY_DYNAMIC_DISPATCH(ByWeight)(window, images);
}
void depthwise_gradient_by_input(const Window& window, const float* dy, const float* w, float* dx) {
  HWY_DYNAMIC_DISPATCH(ByInput)(window, dy, w, dx);
}

}  // namespace anybit::kernels
#endif
