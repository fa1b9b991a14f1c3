// Stores two vectors of integers as bytes, in order; included once for each SIMD target.
#if defined(ANYBIT_KERNELS_STORE_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_STORE_BYTES_INL_H_
#undef ANYBIT_KERNELS_STORE_BYTES_INL_H_
#else
#define ANYBIT_KERNELS_STORE_BYTES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// Rounds half to even and adds a byte's zero point, in saturating 16-bit arithmetic: values outside the byte
// range stay outside and saturate when stored. Lanes are in the order of ReorderDemote2To.
HWY_INLINE hwy::HWY_NAMESPACE::Vec256<std::int16_t> RoundForBytes(hwy::HWY_NAMESPACE::Vec256<float> one,
                                                                  hwy::HWY_NAMESPACE::Vec256<float> two,
                                                                  std::int32_t zero_point) {
  // No lower clamp: conversion of values below int32 gives the lowest int32.
  const __m256 most = _mm256_set1_ps(32767.0f);
  const __m256i wide = _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_min_ps(one.raw, most)),
                                          _mm256_cvtps_epi32(_mm256_min_ps(two.raw, most)));
  return hwy::HWY_NAMESPACE::Vec256<std::int16_t>{
      _mm256_adds_epi16(wide, _mm256_set1_epi16(static_cast<std::int16_t>(zero_point)))};
}
#endif

#if HWY_TARGET == HWY_AVX2
// Stores 16-bit values in ReorderDemote2To order as bytes in natural order.
template <class T>
HWY_INLINE void StoreReordered(hwy::HWY_NAMESPACE::Vec256<std::int16_t> wide, T* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  // Demoted to one vector of 16 bytes, whose second and third group of four are swapped.
  const hn::Full128<T> narrow;
  HWY_ALIGN static constexpr T kOrder[16] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
  hn::StoreU(hn::TableLookupBytes(hn::DemoteTo(narrow, wide), hn::Load(narrow, kOrder)), narrow, to);
}
#endif

// T: int8 or uint8, with saturation.
template <class T, class D>
HWY_INLINE void StoreBytes(D d, hwy::HWY_NAMESPACE::Vec<D> one, hwy::HWY_NAMESPACE::Vec<D> two, T* to) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX2
  StoreReordered(hn::ReorderDemote2To(hn::Repartition<std::int16_t, D>(), one, two), to);
#else
  const hn::Rebind<T, D> narrow;
  hn::StoreU(hn::DemoteTo(narrow, one), narrow, to);
  hn::StoreU(hn::DemoteTo(narrow, two), narrow, to + hn::Lanes(d));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
