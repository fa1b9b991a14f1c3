#include "kernels/codec/integer_weights.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/integer_weights_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen values at a time, in as many vectors as needed: sums are the same for every vector length.
constexpr std::size_t kAtOnce = 16;
using DF = hn::CappedTag<float, kAtOnce>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr std::size_t kLanes = hn::MaxLanes(DF()), kVectors = kAtOnce / kLanes;

HWY_INLINE VI Magnitude(VF x) { return hn::And(hn::BitCast(DI(), x), hn::Set(DI(), 0x7FFFFFFF)); }

std::uint32_t WidenAll(const float* x, std::size_t n, float* low, float* high) {
  const DF d;
  VF lows[kVectors], highs[kVectors];
  VI largest[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) {
    lows[k] = hn::Set(d, *low);
    highs[k] = hn::Set(d, *high);
    largest[k] = hn::Zero(DI());
  }
  const auto look = [&](const float* from) HWY_ATTR {
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < kVectors; ++k) {
      const VF v = hn::LoadU(d, from + k * kLanes);
      lows[k] = hn::Min(lows[k], v);
      highs[k] = hn::Max(highs[k], v);
      largest[k] = hn::Max(largest[k], Magnitude(v));
    }
  };
  std::size_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce) look(x + i);
  if (i < n) {
    float rest[kAtOnce];
    std::fill_n(rest, kAtOnce, x[n - 1]);
    std::memcpy(rest, x + i, (n - i) * sizeof(float));
    look(rest);
  }
  for (std::size_t k = 1; k < kVectors; ++k) {
    lows[0] = hn::Min(lows[0], lows[k]);
    highs[0] = hn::Max(highs[0], highs[k]);
    largest[0] = hn::Max(largest[0], largest[k]);
  }
  *low = hn::GetLane(hn::MinOfLanes(d, lows[0]));
  *high = hn::GetLane(hn::MaxOfLanes(d, highs[0]));
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(DI(), largest[0])));
}

std::uint32_t WidenEach(const float* x, std::size_t n, float* low, float* high) {
  const DF d;
  VI largest = hn::Zero(DI());
  const auto look = [&](const float* from, float* lows, float* highs) HWY_ATTR {
    const VF v = hn::LoadU(d, from);
    hn::StoreU(hn::Min(hn::LoadU(d, lows), v), d, lows);
    hn::StoreU(hn::Max(hn::LoadU(d, highs), v), d, highs);
    largest = hn::Max(largest, Magnitude(v));
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) look(x + i, low + i, high + i);
  if (i < n) {
    float from[kAtOnce] = {}, lows[kAtOnce] = {}, highs[kAtOnce] = {};
    const std::size_t bytes = (n - i) * sizeof(float);
    std::memcpy(from, x + i, bytes);
    std::memcpy(lows, low + i, bytes);
    std::memcpy(highs, high + i, bytes);
    look(from, lows, highs);
    std::memcpy(low + i, lows, bytes);
    std::memcpy(high + i, highs, bytes);
  }
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(DI(), largest)));
}

// Constants that depend on the zero point only.
struct Bounds {
  VF low, high;
  VI zero;

  HWY_INLINE Bounds(const CodeRange& range, VI zero_point)
      : low(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), range.low), zero_point))),
        high(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), range.high), zero_point))),
        zero(zero_point) {}
};

template <class Q>
class Coder {
 public:
  explicit HWY_INLINE Coder(std::int32_t mask) : mask_(hn::Set(DI(), mask)) {
    for (std::size_t k = 0; k < kVectors; ++k) signal_[k] = noise_[k] = hn::Zero(DF());
  }

  HWY_INLINE void Code(std::size_t k, VF x, VF scale, const Bounds& bounds, Q* out) {
    const VF steps = hn::Min(hn::Max(hn::Div(x, scale), bounds.low), bounds.high);
    // Rounds half to even for values of up to 22 bits; the bounds are integers, so clamping first is equal.
    const VF magic = hn::Set(DF(), 12582912.0f), whole = hn::Sub(hn::Add(steps, magic), magic);
    const VF lost = hn::Sub(x, hn::Mul(whole, scale));
    signal_[k] = hn::Add(signal_[k], hn::Mul(x, x));
    noise_[k] = hn::Add(noise_[k], hn::Mul(lost, lost));
    const VI code = hn::And(hn::Add(hn::ConvertTo(DI(), whole), bounds.zero), mask_);
    hn::StoreU(hn::DemoteTo(hn::Rebind<Q, DF>(), code), hn::Rebind<Q, DF>(), out);
  }

  HWY_INLINE Loss Sum() const {
    float signal[kAtOnce], noise[kAtOnce];
    for (std::size_t k = 0; k < kVectors; ++k) {
      hn::StoreU(signal_[k], DF(), signal + k * kLanes);
      hn::StoreU(noise_[k], DF(), noise + k * kLanes);
    }
    Loss loss;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      loss.signal += static_cast<double>(signal[i]);
      loss.noise += static_cast<double>(noise[i]);
    }
    return loss;
  }

 private:
  VI mask_;
  VF signal_[kVectors], noise_[kVectors];
};

template <class Q>
HWY_INLINE void CodeRun(const float* x, const Scales& by, const CodeRange& range, Q* out, std::size_t n,
                        Loss* loss) {
  const DF d;
  Coder<Q> coder(range.mask);
  const VF scale = hn::Set(d, *by.scales);
  const Bounds bounds(range, hn::Set(DI(), *by.zero_points));
  const auto code = [&](const float* from, const float* scales, const std::int32_t* zeros, Q* to) HWY_ATTR {
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < kVectors; ++k) {
      const std::size_t at = k * kLanes;
      if (by.step == 0) {
        coder.Code(k, hn::LoadU(d, from + at), scale, bounds, to + at);
      } else {
        coder.Code(k, hn::LoadU(d, from + at), hn::LoadU(d, scales + at),
                   Bounds(range, hn::LoadU(DI(), zeros + at)), to + at);
      }
    }
  };
  std::size_t i = 0;
  for (; i + kAtOnce <= n; i += kAtOnce)
    code(x + i, by.scales + i * by.step, by.zero_points + i * by.step, out + i);
  if (i < n) {
    const std::size_t rest = n - i;
    float from[kAtOnce] = {}, scales[kAtOnce];
    std::int32_t zeros[kAtOnce] = {};
    Q codes[kAtOnce];
    std::fill_n(scales, kAtOnce, 1.0f);
    std::memcpy(from, x + i, rest * sizeof(float));
    if (by.step != 0) {
      std::memcpy(scales, by.scales + i, rest * sizeof(float));
      std::memcpy(zeros, by.zero_points + i, rest * sizeof(std::int32_t));
    }
    code(from, scales, zeros, codes);
    std::memcpy(out + i, codes, rest * sizeof(Q));
  }
  *loss = coder.Sum();
}

void CodeI8(const float* x, const Scales& by, const CodeRange& range, std::int8_t* out, std::size_t n,
            Loss* loss) {
  CodeRun(x, by, range, out, n, loss);
}
void CodeU8(const float* x, const Scales& by, const CodeRange& range, std::uint8_t* out, std::size_t n,
            Loss* loss) {
  CodeRun(x, by, range, out, n, loss);
}
void CodeI16(const float* x, const Scales& by, const CodeRange& range, std::int16_t* out, std::size_t n,
             Loss* loss) {
  CodeRun(x, by, range, out, n, loss);
}
void CodeU16(const float* x, const Scales& by, const CodeRange& range, std::uint16_t* out, std::size_t n,
             Loss* loss) {
  CodeRun(x, by, range, out, n, loss);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(WidenAll);
HWY_EXPORT(WidenEach);
HWY_EXPORT(CodeI8);
HWY_EXPORT(CodeU8);
HWY_EXPORT(CodeI16);
HWY_EXPORT(CodeU16);

std::uint32_t widen(const float* x, std::size_t n, float* low, float* high, std::size_t step) {
  if (n == 0) return 0;
  return step == 0 ? HWY_DYNAMIC_DISPATCH(WidenAll)(x, n, low, high)
                   : HWY_DYNAMIC_DISPATCH(WidenEach)(x, n, low, high);
}
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int8_t* out, std::size_t n) {
  Loss loss;
  HWY_DYNAMIC_DISPATCH(CodeI8)(x, scales, range, out, n, &loss);
  return loss;
}
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint8_t* out, std::size_t n) {
  Loss loss;
  HWY_DYNAMIC_DISPATCH(CodeU8)(x, scales, range, out, n, &loss);
  return loss;
}
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::int16_t* out, std::size_t n) {
  Loss loss;
  HWY_DYNAMIC_DISPATCH(CodeI16)(x, scales, range, out, n, &loss);
  return loss;
}
Loss code(const float* x, const Scales& scales, const CodeRange& range, std::uint16_t* out, std::size_t n) {
  Loss loss;
  HWY_DYNAMIC_DISPATCH(CodeU16)(x, scales, range, out, n, &loss);
  return loss;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
