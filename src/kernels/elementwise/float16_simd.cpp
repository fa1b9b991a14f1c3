// Works on the bits: conversion instructions differ between CPUs in their NaN results, and some CPUs have
// none. AVX2 CPUs have instructions to float16 with just these results.
#include "kernels/elementwise/float16.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <cstring>

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/float16_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DH = hn::Rebind<std::uint16_t, DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

// Calls body(from, to) for full vectors; the tail goes through a buffer.
template <class From, class To, class Body>
HWY_INLINE void Runs(const From* from, To* to, std::size_t n, const Body& body) {
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(from + i, to + i);
  if (i == n) return;
  HWY_ALIGN From in[hn::MaxLanes(DF())] = {};
  HWY_ALIGN To out[hn::MaxLanes(DF())];
  std::memcpy(in, from + i, (n - i) * sizeof(From));
  body(in, out);
  std::memcpy(to + i, out, (n - i) * sizeof(To));
}

HWY_INLINE VI Constant(int bits) { return hn::Set(DI(), bits); }

// The sign bit and the other bits of a float.
struct Parts {
  VI sign, rest;
};
HWY_INLINE Parts Split(VF x) {
  const VI bits = hn::BitCast(DI(), x);
  const VI rest = hn::And(bits, Constant(0x7FFFFFFF));
  return {hn::Xor(bits, rest), rest};
}
HWY_INLINE void StoreFloat16(VI bits, std::uint16_t* to) {
  hn::StoreU(hn::TruncateTo(DH(), hn::BitCast(hn::RebindToUnsigned<DI>(), bits)), DH(), to);
}
HWY_INLINE VI LoadFloat16(const std::uint16_t* from) { return hn::PromoteTo(DI(), hn::LoadU(DH(), from)); }

// Adds half a step, minus one unit if the bit above is even, so that truncation rounds half to even.
template <int kCut>
HWY_INLINE VI RoundUp(VI rest) {
  const VI odd = hn::And(hn::ShiftRight<kCut>(rest), Constant(1));
  return hn::Add(hn::Add(rest, Constant((1 << (kCut - 1)) - 1)), odd);
}

#if HWY_TARGET == HWY_AVX2
void ToFloat16(const float* from, std::uint16_t* to, std::size_t n) {
  Runs(from, to, n, [](const float* x, std::uint16_t* out) HWY_ATTR {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(x), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), half);
  });
}
#else
void ToFloat16(const float* from, std::uint16_t* to, std::size_t n) {
  Runs(from, to, n, [](const float* x, std::uint16_t* out) HWY_ATTR {
    const auto [sign, rest] = Split(hn::LoadU(DF(), x));
    const VI normal = hn::ShiftRight<13>(hn::Sub(RoundUp<13>(rest), Constant(112 << 23)));
    // The last place of 0.5 in float32 is the step of subnormal float16: adding rounds.
    const VF units = hn::Add(hn::BitCast(DF(), rest), hn::Set(DF(), 0.5f));
    const VI small = hn::Sub(hn::BitCast(DI(), units), Constant(0x3F000000));
    const VI finite = hn::IfThenElse(hn::Lt(rest, Constant(0x38800000)), small, normal);
    const VI nan = hn::Or(hn::And(hn::ShiftRight<13>(rest), Constant(0x3FF)), Constant(0x7E00));
    const VI beyond = hn::IfThenElse(hn::Gt(rest, Constant(0x7F800000)), nan, Constant(0x7C00));
    const VI half = hn::IfThenElse(hn::Lt(rest, Constant(0x477FF000)), finite, beyond);
    StoreFloat16(hn::Or(half, hn::ShiftRight<16>(sign)), out);
  });
}
#endif

void FromFloat16(const std::uint16_t* from, float* to, std::size_t n) {
  Runs(from, to, n, [](const std::uint16_t* x, float* out) HWY_ATTR {
    const VI half = LoadFloat16(x), rest = hn::And(half, Constant(0x7FFF));
    const VI normal = hn::Add(hn::ShiftLeft<13>(rest), Constant(112 << 23));
    const VI special = hn::Or(hn::ShiftLeft<13>(rest), Constant(0x7F800000));
    const VF small = hn::Mul(hn::ConvertTo(DF(), rest), hn::Set(DF(), 0x1p-24f));
    const VI large = hn::IfThenElse(hn::Lt(rest, Constant(0x7C00)), normal, special);
    const VI all = hn::IfThenElse(hn::Lt(rest, Constant(0x400)), hn::BitCast(DI(), small), large);
    const VI sign = hn::ShiftLeft<16>(hn::Xor(half, rest));
    hn::StoreU(hn::BitCast(DF(), hn::Or(all, sign)), DF(), out);
  });
}

// NaN stays: the second operand is the result if one is NaN.
HWY_INLINE VF Limited(VF x, VF low, VF high) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Min(high, hn::Max(low, x));
#else
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Lt(high, x), high, x);
#endif
}

#if HWY_TARGET == HWY_AVX2
// Two vectors at a time: the conversions have a latency of several cycles.
void ThroughFloat16(const float* from, float* to, std::size_t n, FloatLimits limits) {
  const DF d;
  const VF low = hn::Set(d, limits.low), high = hn::Set(d, limits.high);
  const auto nearest = [&](const float* x, float* out) HWY_ATTR {
    const VF limited = Limited(hn::LoadU(d, x), low, high);
    const __m128i half = _mm256_cvtps_ph(limited.raw, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_ps(out, _mm256_cvtph_ps(half));
  };
  const std::size_t pairs = n / 16 * 16;
  for (std::size_t i = 0; i < pairs; i += 16) {
    nearest(from + i, to + i);
    nearest(from + i + 8, to + i + 8);
  }
  Runs(from + pairs, to + pairs, n - pairs, nearest);
}
#else
// As ToFloat16 and FromFloat16, without the steps that cancel out.
void ThroughFloat16(const float* from, float* to, std::size_t n, FloatLimits limits) {
  const DF d;
  const VF low = hn::Set(d, limits.low), high = hn::Set(d, limits.high);
  Runs(from, to, n, [&](const float* x, float* out) HWY_ATTR {
    const auto [sign, rest] = Split(Limited(hn::LoadU(d, x), low, high));
    const VI normal = hn::And(RoundUp<13>(rest), Constant(~0x1FFF));
    const VF half = hn::Set(DF(), 0.5f);
    const VI small = hn::BitCast(DI(), hn::Sub(hn::Add(hn::BitCast(DF(), rest), half), half));
    const VI finite = hn::IfThenElse(hn::Lt(rest, Constant(0x38800000)), small, normal);
    const VI nan = hn::Or(hn::And(rest, Constant(0x007FE000)), Constant(0x7FC00000));
    const VI beyond = hn::IfThenElse(hn::Gt(rest, Constant(0x7F800000)), nan, Constant(0x7F800000));
    const VI all = hn::IfThenElse(hn::Lt(rest, Constant(0x477FF000)), finite, beyond);
    hn::StoreU(hn::BitCast(DF(), hn::Or(all, sign)), DF(), out);
  });
}
#endif

void ToBfloat16(const float* from, std::uint16_t* to, std::size_t n) {
  Runs(from, to, n, [](const float* x, std::uint16_t* out) HWY_ATTR {
    const auto [sign, rest] = Split(hn::LoadU(DF(), x));
    const VI nan = hn::Or(rest, Constant(0x00400000));
    const VI all = hn::IfThenElse(hn::Gt(rest, Constant(0x7F800000)), nan, RoundUp<16>(rest));
    StoreFloat16(hn::ShiftRight<16>(hn::Or(all, sign)), out);
  });
}

void FromBfloat16(const std::uint16_t* from, float* to, std::size_t n) {
  Runs(from, to, n, [](const std::uint16_t* x, float* out) HWY_ATTR {
    hn::StoreU(hn::BitCast(DF(), hn::ShiftLeft<16>(LoadFloat16(x))), DF(), out);
  });
}

void ConvertFloat16(const Float16Work& work) {
  const auto* floats = static_cast<const float*>(work.from);
  const auto* float16s = static_cast<const std::uint16_t*>(work.from);
  switch (work.kind) {
    case Float16Work::Kind::to_float16:
      return ToFloat16(floats, static_cast<std::uint16_t*>(work.to), work.n);
    case Float16Work::Kind::from_float16:
      return FromFloat16(float16s, static_cast<float*>(work.to), work.n);
    case Float16Work::Kind::through_float16:
      return ThroughFloat16(floats, static_cast<float*>(work.to), work.n, work.limits);
    case Float16Work::Kind::to_bfloat16:
      return ToBfloat16(floats, static_cast<std::uint16_t*>(work.to), work.n);
    case Float16Work::Kind::from_bfloat16:
      return FromBfloat16(float16s, static_cast<float*>(work.to), work.n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> float16_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "float32 and float16 or bfloat16";
  static const Descriptor all[] = {
      {"vectors", kTypes, "", avx2, true, 0, Float16Conversion{HWY_CHOOSE_AVX2(ConvertFloat16)}},
      {"vectors", kTypes, "", baseline, true, 0, Float16Conversion{HWY_STATIC_DISPATCH(ConvertFloat16)}},
  };
  return all;
}

namespace {

void convert(Float16Work::Kind kind, const void* from, void* to, std::size_t n, FloatLimits limits = {}) {
  const Float16Work work{kind, from, to, n, limits};
  choose<Float16Conversion>(work).run(work);
}

}  // namespace

void to_float16(const float* from, std::uint16_t* to, std::size_t n) {
  convert(Float16Work::Kind::to_float16, from, to, n);
}
void from_float16(const std::uint16_t* from, float* to, std::size_t n) {
  convert(Float16Work::Kind::from_float16, from, to, n);
}
void through_float16(const float* from, float* to, std::size_t n, FloatLimits limits) {
  convert(Float16Work::Kind::through_float16, from, to, n, limits);
}
void to_bfloat16(const float* from, std::uint16_t* to, std::size_t n) {
  convert(Float16Work::Kind::to_bfloat16, from, to, n);
}
void from_bfloat16(const std::uint16_t* from, float* to, std::size_t n) {
  convert(Float16Work::Kind::from_bfloat16, from, to, n);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
