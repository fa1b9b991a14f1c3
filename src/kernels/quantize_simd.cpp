#include "kernels/quantize.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/store_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
template <class Q>
using DQ = hn::Rebind<Q, DF>;  // as many bytes as a vector has floats

// Calls body(i, n) for whole vectors and then once for what is left.
template <class Body>
HWY_INLINE void Runs(std::size_t n, const Body& body) {
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, n - i);
}

// Loads and stores that may be short; a short load is filled up with zeros.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadSome(D d, const T* from, std::size_t n) {
  if (n >= hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN T buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, from, n * sizeof(T));
  return hn::Load(d, buffer);
}
template <class D, class T>
HWY_INLINE void StoreSome(hn::Vec<D> v, D d, T* to, std::size_t n) {
  if (n >= hn::Lanes(d)) return hn::StoreU(v, d, to);
  HWY_ALIGN T buffer[hn::MaxLanes(d)];
  hn::Store(v, d, buffer);
  std::memcpy(to, buffer, n * sizeof(T));
}

// Numbers to whole ones within the type's range around the zero point; NaN becomes zero.
template <class Q>
class Rounding {
 public:
  explicit HWY_INLINE Rounding(VI zero_point)
      : low_(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), std::numeric_limits<Q>::lowest()), zero_point))),
        high_(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), std::numeric_limits<Q>::max()), zero_point))),
        less_(hn::Sub(hn::Set(DI(), 0x4B400000), zero_point)) {}

  HWY_INLINE VF Clamp(VF x) const { return ClampNumber(hn::IfThenElseZero(hn::Eq(x, x), x)); }
  HWY_INLINE VF ClampNumber(VF x) const { return hn::Min(hn::Max(x, low_), high_); }
  // The bounds are whole numbers: clamping before rounding gives the same. Adding 1.5·2²³ rounds half to
  // even, and leaves the whole number in the low bits.
  static HWY_INLINE VF Whole(VF clamped) { return hn::Add(clamped, hn::Set(DF(), kMagic)); }
  HWY_INLINE void Store(VF whole, Q* out, std::size_t n) const {
    StoreSome(hn::DemoteTo(DQ<Q>(), Code(whole)), DQ<Q>(), out, n);
  }
  HWY_INLINE void StoreFours(const VF (&whole)[4], Q* out) const {
    StoreBytes(DI(), Code(whole[0]), Code(whole[1]), out);
    StoreBytes(DI(), Code(whole[2]), Code(whole[3]), out + 2 * hn::Lanes(DF()));
  }
  HWY_INLINE void operator()(VF x, Q* out, std::size_t n) const { Store(Whole(Clamp(x)), out, n); }

  static constexpr float kMagic = 12582912.0f;

 private:
  HWY_INLINE VI Code(VF whole) const { return hn::Sub(hn::BitCast(DI(), whole), less_); }

  VF low_, high_;
  VI less_;
};

// Calls body(i, n, scale, zero point): with one scale everything that hangs on it is outside of the loop.
template <class Body>
HWY_INLINE void ScaledRuns(const Scales& by, std::size_t n, const Body& body) {
  const DF d;
  const DI di;
  if (by.step == 0) {
    const VF scale = hn::Set(d, *by.scales);
    const VI zero_point = hn::Set(di, *by.zero_points);
    return Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR { body(i, m, scale, zero_point); });
  }
  Runs(n, [&](std::size_t i, std::size_t m)
              HWY_ATTR { body(i, m, LoadSome(d, by.scales + i, m), LoadSome(di, by.zero_points + i, m)); });
}

// Four vectors at a time by the scale's reciprocal; how many numbers were done. The product is within 3·2⁻²⁴
// of the quotient, relatively: below 256 it rounds to the same whole number unless it is within 10⁻⁴ of the
// middle of two. Then it is divided.
template <class Q>
HWY_INLINE std::size_t QuantizeFours(const float* x, float scale, std::int32_t zero_point, Q* out,
                                     std::size_t n) {
  const float reciprocal = 1 / scale;
  if (!std::isnormal(scale) || !std::isnormal(reciprocal)) return 0;
  constexpr std::size_t kFour = 4;
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  const VF factor = hn::Set(d, reciprocal), magic = hn::Set(d, Rounding<Q>::kMagic);
  const VF most = hn::Set(d, 0.4999f);
  const Rounding<Q> rounding(hn::Set(DI(), zero_point));
  std::size_t i = 0;
  for (; i + kFour * lanes <= n; i += kFour * lanes) {
    VF whole[kFour], apart = hn::Zero(d);
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < kFour; ++k) {
      const VF clamped = rounding.Clamp(hn::Mul(hn::LoadU(d, x + i + k * lanes), factor));
      whole[k] = rounding.Whole(clamped);
      apart = hn::Max(apart, hn::Abs(hn::Sub(clamped, hn::Sub(whole[k], magic))));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(apart, most)))) {
      for (std::size_t k = 0; k < kFour; ++k) {
        const VF quotient = hn::Div(hn::LoadU(d, x + i + k * lanes), hn::Set(d, scale));
        whole[k] = rounding.Whole(rounding.Clamp(quotient));
      }
    }
    rounding.StoreFours(whole, out + i);
  }
  return i;
}

template <class Q>
HWY_INLINE void QuantizeRun(const float* x, const Scales& by, Q* out, std::size_t n) {
  std::size_t done = 0;
  if (by.step == 0) done = QuantizeFours(x, *by.scales, *by.zero_points, out, n);
  // Only one scale is ever done in part.
  ScaledRuns(by, n - done, [&](std::size_t i, std::size_t m, VF scale, VI zero_point) HWY_ATTR {
    const Rounding<Q> rounding(zero_point);
    rounding(hn::Div(LoadSome(DF(), x + done + i, m), scale), out + done + i, m);
  });
}

template <class Q>
HWY_INLINE VI LoadWhole(const Q* q, std::size_t n) {
  return hn::PromoteTo(DI(), LoadSome(DQ<Q>(), q, n));
}

template <class Q>
HWY_INLINE void DequantizeRun(const Q* q, const Scales& by, float* out, std::size_t n) {
  ScaledRuns(by, n, [&](std::size_t i, std::size_t m, VF scale, VI zero_point) HWY_ATTR {
    const VI whole = hn::Sub(LoadWhole(q + i, m), zero_point);
    StoreSome(hn::Mul(hn::ConvertTo(DF(), whole), scale), DF(), out + i, m);
  });
}

template <class Q, class F>
HWY_INLINE void PairRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                        const QuantizedPair& by, const F& f) {
  if (n == 0) return;
  const DI di;
  const DF d;
  const Rounding<Q> rounding(hn::Set(di, by.zero_point));
  const VI a_zero = hn::Set(di, by.a_zero), b_zero = hn::Set(di, by.b_zero);
  const VI a_first = hn::Set(di, *a), b_first = hn::Set(di, *b);
  const std::size_t lanes = hn::Lanes(d);
  const auto result = [&](std::size_t i, std::size_t m) HWY_ATTR {
    const VI x = a_step ? LoadWhole(a + i, m) : a_first;
    const VI y = b_step ? LoadWhole(b + i, m) : b_first;
    return f(hn::ConvertTo(d, hn::Sub(x, a_zero)), hn::ConvertTo(d, hn::Sub(y, b_zero)));
  };
  std::size_t done = 0;
  // Products with factors like these are numbers, and so are their sums.
  const bool numbers = std::fabs(by.a_factor) < 1e30f && std::fabs(by.b_factor) < 1e30f;
  for (; numbers && done + 4 * lanes <= n; done += 4 * lanes) {
    VF whole[4];
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < 4; ++k)
      whole[k] = rounding.Whole(rounding.ClampNumber(result(done + k * lanes, lanes)));
    rounding.StoreFours(whole, out + done);
  }
  Runs(n - done,
       [&](std::size_t i, std::size_t m) HWY_ATTR { rounding(result(done + i, m), out + done + i, m); });
}

template <class Q>
HWY_INLINE void SumRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                       const QuantizedPair& by) {
  const VF a_factor = hn::Set(DF(), by.a_factor), b_factor = hn::Set(DF(), by.b_factor);
  PairRun(a, a_step, b, b_step, out, n, by,
          [&](VF x, VF y) HWY_ATTR { return hn::Add(hn::Mul(x, a_factor), hn::Mul(y, b_factor)); });
}

template <class Q>
HWY_INLINE void ProductRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out,
                           std::size_t n, const QuantizedPair& by) {
  const VF factor = hn::Set(DF(), by.a_factor);
  // The first product is below 2^17: exact.
  PairRun(a, a_step, b, b_step, out, n, by,
          [&](VF x, VF y) HWY_ATTR { return hn::Mul(hn::Mul(x, y), factor); });
}

void QuantizeU8(const float* x, const Scales& by, std::uint8_t* out, std::size_t n) {
  QuantizeRun(x, by, out, n);
}
void QuantizeI8(const float* x, const Scales& by, std::int8_t* out, std::size_t n) {
  QuantizeRun(x, by, out, n);
}
void DequantizeU8(const std::uint8_t* q, const Scales& by, float* out, std::size_t n) {
  DequantizeRun(q, by, out, n);
}
void DequantizeI8(const std::int8_t* q, const Scales& by, float* out, std::size_t n) {
  DequantizeRun(q, by, out, n);
}
void SumU8(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
           std::uint8_t* out, std::size_t n, const QuantizedPair& by) {
  SumRun(a, a_step, b, b_step, out, n, by);
}
void SumI8(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
           std::int8_t* out, std::size_t n, const QuantizedPair& by) {
  SumRun(a, a_step, b, b_step, out, n, by);
}
void ProductU8(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
               std::uint8_t* out, std::size_t n, const QuantizedPair& by) {
  ProductRun(a, a_step, b, b_step, out, n, by);
}
void ProductI8(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
               std::int8_t* out, std::size_t n, const QuantizedPair& by) {
  ProductRun(a, a_step, b, b_step, out, n, by);
}

void FindEnds(const float* x, std::size_t n, Ends* result) {
  const DF d;
  VF low = hn::Zero(d), high = hn::Zero(d);
  Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
    const VF v = LoadSome(d, x + i, m);
    const VF number = hn::IfThenElseZero(hn::Eq(v, v), v);
    low = hn::Min(low, number);
    high = hn::Max(high, number);
  });
  *result = {hn::GetLane(hn::MinOfLanes(d, low)), hn::GetLane(hn::MaxOfLanes(d, high))};
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(QuantizeU8);
HWY_EXPORT(QuantizeI8);
HWY_EXPORT(DequantizeU8);
HWY_EXPORT(DequantizeI8);
HWY_EXPORT(SumU8);
HWY_EXPORT(SumI8);
HWY_EXPORT(ProductU8);
HWY_EXPORT(ProductI8);
HWY_EXPORT(FindEnds);

void quantize(const float* x, const Scales& scales, std::uint8_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeU8)(x, scales, out, n);
}
void quantize(const float* x, const Scales& scales, std::int8_t* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(QuantizeI8)(x, scales, out, n);
}
void dequantize(const std::uint8_t* q, const Scales& scales, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeU8)(q, scales, out, n);
}
void dequantize(const std::int8_t* q, const Scales& scales, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(DequantizeI8)(q, scales, out, n);
}
void quantized_sum(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
                   std::uint8_t* out, std::size_t n, const QuantizedPair& by) {
  HWY_DYNAMIC_DISPATCH(SumU8)(a, a_step, b, b_step, out, n, by);
}
void quantized_sum(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
                   std::int8_t* out, std::size_t n, const QuantizedPair& by) {
  HWY_DYNAMIC_DISPATCH(SumI8)(a, a_step, b, b_step, out, n, by);
}
void quantized_product(const std::uint8_t* a, std::size_t a_step, const std::uint8_t* b, std::size_t b_step,
                       std::uint8_t* out, std::size_t n, const QuantizedPair& by) {
  HWY_DYNAMIC_DISPATCH(ProductU8)(a, a_step, b, b_step, out, n, by);
}
void quantized_product(const std::int8_t* a, std::size_t a_step, const std::int8_t* b, std::size_t b_step,
                       std::int8_t* out, std::size_t n, const QuantizedPair& by) {
  HWY_DYNAMIC_DISPATCH(ProductI8)(a, a_step, b, b_step, out, n, by);
}
Ends ends(const float* x, std::size_t n) {
  Ends result;
  HWY_DYNAMIC_DISPATCH(FindEnds)(x, n, &result);
  return result;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
