#include "kernels/elementwise/quantize.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/quantize_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/store_bytes-inl.h"

#ifndef ANYBIT_KERNELS_QUANTIZE_SIMD_ONCE_
#define ANYBIT_KERNELS_QUANTIZE_SIMD_ONCE_
namespace anybit::kernels {
// The integer types, for functions that exist once per target.
enum class QuantizedType { uint8, int8, uint16, int16 };

template <class Q>
constexpr QuantizedType kQuantizedType = std::is_signed_v<Q>
                                             ? (sizeof(Q) == 1 ? QuantizedType::int8 : QuantizedType::int16)
                                             : (sizeof(Q) == 1 ? QuantizedType::uint8
                                                               : QuantizedType::uint16);

struct QuantizeWork {
  QuantizedType type;
  const float* x;
  const Scales& by;
  void* out;
  std::size_t n;
};
struct DequantizeWork {
  QuantizedType type;
  const void* q;
  const Scales& by;
  float* out;
  std::size_t n;
};
// Two tensors and their quantized sum or product.
struct QuantizedPairWork {
  QuantizedType type;
  const QuantizedPair& by;
  const void* a;
  std::size_t a_step;
  const void* b;
  std::size_t b_step;
  void* out;
  std::size_t n;
};
struct QuantizedSumWork : QuantizedPairWork {};
struct QuantizedProductWork : QuantizedPairWork {};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
template <class Q>
using DQ = hn::Rebind<Q, DF>;  // as many integers as a vector has floats

// Calls body(i, n) for full vectors and then once for the rest.
template <class Body>
HWY_INLINE void Runs(std::size_t n, const Body& body) {
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, n - i);
}

// Loads and stores that may be partial; a partial load is padded with zeros.
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

// Clamps to the type's range around the zero point and rounds to integers; NaN becomes zero.
template <class Q>
class Rounding {
 public:
  explicit HWY_INLINE Rounding(VI zero_point)
      : low_(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), std::numeric_limits<Q>::lowest()), zero_point))),
        high_(hn::ConvertTo(DF(), hn::Sub(hn::Set(DI(), std::numeric_limits<Q>::max()), zero_point))),
        less_(hn::Sub(hn::Set(DI(), 0x4B400000), zero_point)) {}

  HWY_INLINE VF Clamp(VF x) const { return ClampNumber(hn::IfThenElseZero(hn::Eq(x, x), x)); }
  HWY_INLINE VF ClampNumber(VF x) const { return hn::Min(hn::Max(x, low_), high_); }
  // The bounds are integers, so clamping before rounding is equal to clamping after it. Adding 1.5·2²³ rounds
  // half to even and leaves the integer in the low bits.
  static HWY_INLINE VF Integer(VF clamped) { return hn::Add(clamped, hn::Set(DF(), kMagic)); }
  HWY_INLINE void Store(VF integer, Q* out, std::size_t n) const {
    StoreSome(hn::DemoteTo(DQ<Q>(), Code(integer)), DQ<Q>(), out, n);
  }
  HWY_INLINE void StoreFours(const VF (&integer)[4], Q* out) const {
    if constexpr (sizeof(Q) == 1) {
      StoreBytes(DI(), Code(integer[0]), Code(integer[1]), out);
      StoreBytes(DI(), Code(integer[2]), Code(integer[3]), out + 2 * hn::Lanes(DF()));
    } else {
      for (std::size_t k = 0; k < 4; ++k) Store(integer[k], out + k * hn::Lanes(DF()), hn::Lanes(DF()));
    }
  }
  HWY_INLINE void operator()(VF x, Q* out, std::size_t n) const { Store(Integer(Clamp(x)), out, n); }

  static constexpr float kMagic = 12582912.0f;

 private:
  HWY_INLINE VI Code(VF integer) const { return hn::Sub(hn::BitCast(DI(), integer), less_); }

  VF low_, high_;
  VI less_;
};

// Calls body(i, n, scale, zero point); with one scale, everything derived from it is loop-invariant.
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

// Four vectors at a time by the reciprocal of the scale; returns how many values were done. The product is
// within a relative error of 3·2⁻²⁴ of the quotient: below 256 it rounds to the same integer unless it is
// within 10⁻⁴ of a midpoint. Those values are divided.
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
    VF integer[kFour], apart = hn::Zero(d);
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < kFour; ++k) {
      const VF clamped = rounding.Clamp(hn::Mul(hn::LoadU(d, x + i + k * lanes), factor));
      integer[k] = rounding.Integer(clamped);
      apart = hn::Max(apart, hn::Abs(hn::Sub(clamped, hn::Sub(integer[k], magic))));
    }
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Lt(apart, most)))) {
      for (std::size_t k = 0; k < kFour; ++k) {
        const VF quotient = hn::Div(hn::LoadU(d, x + i + k * lanes), hn::Set(d, scale));
        integer[k] = rounding.Integer(rounding.Clamp(quotient));
      }
    }
    rounding.StoreFours(integer, out + i);
  }
  return i;
}

template <class Q>
HWY_INLINE void QuantizeRun(const float* x, const Scales& by, Q* out, std::size_t n) {
  std::size_t done = 0;
  // With 65,536 quantized values, one value in a hundred would be that close to a midpoint.
  if (by.step == 0 && sizeof(Q) == 1) done = QuantizeFours(x, *by.scales, *by.zero_points, out, n);
  // Only work with a single scale may be partly done at this point.
  ScaledRuns(by, n - done, [&](std::size_t i, std::size_t m, VF scale, VI zero_point) HWY_ATTR {
    const Rounding<Q> rounding(zero_point);
    rounding(hn::Div(LoadSome(DF(), x + done + i, m), scale), out + done + i, m);
  });
}

template <class Q>
HWY_INLINE VI LoadInteger(const Q* q, std::size_t n) {
  return hn::PromoteTo(DI(), LoadSome(DQ<Q>(), q, n));
}

template <class Q>
HWY_INLINE void DequantizeRun(const Q* q, const Scales& by, float* out, std::size_t n) {
  ScaledRuns(by, n, [&](std::size_t i, std::size_t m, VF scale, VI zero_point) HWY_ATTR {
    const VI integer = hn::Sub(LoadInteger(q + i, m), zero_point);
    StoreSome(hn::Mul(hn::ConvertTo(DF(), integer), scale), DF(), out + i, m);
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
    const VI x = a_step ? LoadInteger(a + i, m) : a_first;
    const VI y = b_step ? LoadInteger(b + i, m) : b_first;
    return f(hn::ConvertTo(d, hn::Sub(x, a_zero)), hn::ConvertTo(d, hn::Sub(y, b_zero)));
  };
  std::size_t done = 0;
  // With factors like these, no product is infinite and no sum is NaN.
  const bool numbers = std::fabs(by.a_factor) < 1e30f && std::fabs(by.b_factor) < 1e30f;
  for (; numbers && done + 4 * lanes <= n; done += 4 * lanes) {
    VF integer[4];
    HWY_UNROLL(4)
    for (std::size_t k = 0; k < 4; ++k)
      integer[k] = rounding.Integer(rounding.ClampNumber(result(done + k * lanes, lanes)));
    rounding.StoreFours(integer, out + done);
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
  // For 8 bits, the first product is below 2^17, hence exact. For 16 bits it is rounded to 24 bits.
  PairRun(a, a_step, b, b_step, out, n, by,
          [&](VF x, VF y) HWY_ATTR { return hn::Mul(hn::Mul(x, y), factor); });
}

template <class Body>
HWY_INLINE void ForQuantized(QuantizedType type, const Body& body) {
  switch (type) {
    case QuantizedType::uint8:
      return body(std::uint8_t());
    case QuantizedType::int8:
      return body(std::int8_t());
    case QuantizedType::uint16:
      return body(std::uint16_t());
    case QuantizedType::int16:
      return body(std::int16_t());
  }
}

void QuantizeAny(const QuantizeWork& of) {
  ForQuantized(of.type,
               [&]<class Q>(Q) HWY_ATTR { QuantizeRun(of.x, of.by, static_cast<Q*>(of.out), of.n); });
}
void DequantizeAny(const DequantizeWork& of) {
  ForQuantized(of.type,
               [&]<class Q>(Q) HWY_ATTR { DequantizeRun(static_cast<const Q*>(of.q), of.by, of.out, of.n); });
}
void AddQuantized(const QuantizedSumWork& of) {
  ForQuantized(of.type, [&]<class Q>(Q) HWY_ATTR {
    SumRun(static_cast<const Q*>(of.a), of.a_step, static_cast<const Q*>(of.b), of.b_step,
           static_cast<Q*>(of.out), of.n, of.by);
  });
}
void MultiplyQuantized(const QuantizedProductWork& of) {
  ForQuantized(of.type, [&]<class Q>(Q) HWY_ATTR {
    ProductRun(static_cast<const Q*>(of.a), of.a_step, static_cast<const Q*>(of.b), of.b_step,
               static_cast<Q*>(of.out), of.n, of.by);
  });
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

HWY_EXPORT(FindEnds);

std::span<const Descriptor> quantize_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTo = "float32 to 8 or 16 bits", kFrom = "8 or 16 bits to float32",
                             kTypes = "8 or 16 bits";
  static const Descriptor all[] = {
      {"vectors", kTo, "", avx2, false, 0, Quantize{HWY_CHOOSE_AVX2(QuantizeAny)}},
      {"vectors", kTo, "", baseline, true, 0, Quantize{HWY_STATIC_DISPATCH(QuantizeAny)}},
      {"vectors", kFrom, "", avx2, false, 0, Dequantize{HWY_CHOOSE_AVX2(DequantizeAny)}},
      {"vectors", kFrom, "", baseline, true, 0, Dequantize{HWY_STATIC_DISPATCH(DequantizeAny)}},
      {"vectors", kTypes, "", avx2, false, 0, QuantizedSum{HWY_CHOOSE_AVX2(AddQuantized)}},
      {"vectors", kTypes, "", baseline, true, 0, QuantizedSum{HWY_STATIC_DISPATCH(AddQuantized)}},
      {"vectors", kTypes, "", avx2, false, 0, QuantizedProduct{HWY_CHOOSE_AVX2(MultiplyQuantized)}},
      {"vectors", kTypes, "", baseline, true, 0, QuantizedProduct{HWY_STATIC_DISPATCH(MultiplyQuantized)}},
  };
  return all;
}

template <class Q>
void quantize(const float* x, const Scales& scales, Q* out, std::size_t n) {
  const QuantizeWork work{kQuantizedType<Q>, x, scales, out, n};
  choose<Quantize>(work).run(work);
}
template <class Q>
void dequantize(const Q* q, const Scales& scales, float* out, std::size_t n) {
  const DequantizeWork work{kQuantizedType<Q>, q, scales, out, n};
  choose<Dequantize>(work).run(work);
}
template <class Q>
void quantized_sum(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                   const QuantizedPair& by) {
  const QuantizedSumWork work{{kQuantizedType<Q>, by, a, a_step, b, b_step, out, n}};
  choose<QuantizedSum>(work).run(work);
}
template <class Q>
void quantized_product(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                       const QuantizedPair& by) {
  const QuantizedProductWork work{{kQuantizedType<Q>, by, a, a_step, b, b_step, out, n}};
  choose<QuantizedProduct>(work).run(work);
}
template void quantize(const float*, const Scales&, std::uint8_t*, std::size_t);
template void dequantize(const std::uint8_t*, const Scales&, float*, std::size_t);
template void quantized_sum(const std::uint8_t*, std::size_t, const std::uint8_t*, std::size_t, std::uint8_t*,
                            std::size_t, const QuantizedPair&);
template void quantized_product(const std::uint8_t*, std::size_t, const std::uint8_t*, std::size_t,
                                std::uint8_t*, std::size_t, const QuantizedPair&);
template void quantize(const float*, const Scales&, std::int8_t*, std::size_t);
template void dequantize(const std::int8_t*, const Scales&, float*, std::size_t);
template void quantized_sum(const std::int8_t*, std::size_t, const std::int8_t*, std::size_t, std::int8_t*,
                            std::size_t, const QuantizedPair&);
template void quantized_product(const std::int8_t*, std::size_t, const std::int8_t*, std::size_t,
                                std::int8_t*, std::size_t, const QuantizedPair&);
template void quantize(const float*, const Scales&, std::uint16_t*, std::size_t);
template void dequantize(const std::uint16_t*, const Scales&, float*, std::size_t);
template void quantized_sum(const std::uint16_t*, std::size_t, const std::uint16_t*, std::size_t,
                            std::uint16_t*, std::size_t, const QuantizedPair&);
template void quantized_product(const std::uint16_t*, std::size_t, const std::uint16_t*, std::size_t,
                                std::uint16_t*, std::size_t, const QuantizedPair&);
template void quantize(const float*, const Scales&, std::int16_t*, std::size_t);
template void dequantize(const std::int16_t*, const Scales&, float*, std::size_t);
template void quantized_sum(const std::int16_t*, std::size_t, const std::int16_t*, std::size_t, std::int16_t*,
                            std::size_t, const QuantizedPair&);
template void quantized_product(const std::int16_t*, std::size_t, const std::int16_t*, std::size_t,
                                std::int16_t*, std::size_t, const QuantizedPair&);
Ends ends(const float* x, std::size_t n) {
  Ends result;
  HWY_DYNAMIC_DISPATCH(FindEnds)(x, n, &result);
  return result;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
