#include "kernels/quantize.hpp"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

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

// A quotient to a whole number within the type's range around the zero point, then to its place.
template <class Q>
HWY_INLINE void StoreWhole(VF quotient, VI zero_point, Q* out, std::size_t n) {
  const DF d;
  const DI di;
  const VF low = hn::ConvertTo(d, hn::Sub(hn::Set(di, std::numeric_limits<Q>::lowest()), zero_point));
  const VF high = hn::ConvertTo(d, hn::Sub(hn::Set(di, std::numeric_limits<Q>::max()), zero_point));
  const VF number = hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
  const VI whole = hn::NearestInt(hn::Min(hn::Max(number, low), high));
  StoreSome(hn::DemoteTo(DQ<Q>(), hn::Add(whole, zero_point)), DQ<Q>(), out, n);
}

// Inlined into both kinds of loops: with one scale everything but the quotient is outside of the loop.
template <class Q>
HWY_INLINE void QuantizeRun(const float* x, const Scales& by, Q* out, std::size_t n) {
  const DF d;
  const DI di;
  if (by.step == 0) {
    const VF scale = hn::Set(d, *by.scales);
    const VI zero_point = hn::Set(di, *by.zero_points);
    return Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
      StoreWhole(hn::Div(LoadSome(d, x + i, m), scale), zero_point, out + i, m);
    });
  }
  Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
    StoreWhole(hn::Div(LoadSome(d, x + i, m), LoadSome(d, by.scales + i, m)),
               LoadSome(di, by.zero_points + i, m), out + i, m);
  });
}

template <class Q>
HWY_INLINE VI LoadWhole(const Q* q, std::size_t n) {
  return hn::PromoteTo(DI(), LoadSome(DQ<Q>(), q, n));
}

template <class Q>
HWY_INLINE void DequantizeRun(const Q* q, const Scales& by, float* out, std::size_t n) {
  const DF d;
  const DI di;
  if (by.step == 0) {
    const VF scale = hn::Set(d, *by.scales);
    const VI zero_point = hn::Set(di, *by.zero_points);
    return Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
      const VI whole = hn::Sub(LoadWhole(q + i, m), zero_point);
      StoreSome(hn::Mul(hn::ConvertTo(d, whole), scale), d, out + i, m);
    });
  }
  Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
    const VI whole = hn::Sub(LoadWhole(q + i, m), LoadSome(di, by.zero_points + i, m));
    StoreSome(hn::Mul(hn::ConvertTo(d, whole), LoadSome(d, by.scales + i, m)), d, out + i, m);
  });
}

template <class Q, class F>
HWY_INLINE void PairRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                        std::int32_t zero, const F& f) {
  const DI di;
  const VI zero_point = hn::Set(di, zero);
  if (n == 0) return;
  const VI a_first = hn::Set(di, *a), b_first = hn::Set(di, *b);
  Runs(n, [&](std::size_t i, std::size_t m) HWY_ATTR {
    const VI x = a_step ? LoadWhole(a + i, m) : a_first;
    const VI y = b_step ? LoadWhole(b + i, m) : b_first;
    StoreWhole(f(x, y), zero_point, out + i, m);
  });
}

template <class Q>
HWY_INLINE void SumRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out, std::size_t n,
                       const QuantizedPair& by) {
  const DF d;
  const DI di;
  const VI a_zero = hn::Set(di, by.a_zero), b_zero = hn::Set(di, by.b_zero);
  const VF a_factor = hn::Set(d, by.a_factor), b_factor = hn::Set(d, by.b_factor);
  PairRun(a, a_step, b, b_step, out, n, by.zero_point, [&](VI x, VI y) HWY_ATTR {
    const VF one = hn::Mul(hn::ConvertTo(d, hn::Sub(x, a_zero)), a_factor);
    const VF other = hn::Mul(hn::ConvertTo(d, hn::Sub(y, b_zero)), b_factor);
    return hn::Add(one, other);
  });
}

template <class Q>
HWY_INLINE void ProductRun(const Q* a, std::size_t a_step, const Q* b, std::size_t b_step, Q* out,
                           std::size_t n, const QuantizedPair& by) {
  const DF d;
  const DI di;
  const VI a_zero = hn::Set(di, by.a_zero), b_zero = hn::Set(di, by.b_zero);
  const VF factor = hn::Set(d, by.a_factor);
  PairRun(a, a_step, b, b_step, out, n, by.zero_point, [&](VI x, VI y) HWY_ATTR {
    const VF product = hn::Mul(hn::ConvertTo(d, hn::Sub(x, a_zero)), hn::ConvertTo(d, hn::Sub(y, b_zero)));
    return hn::Mul(product, factor);  // the first product is below 2^17: exact
  });
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
