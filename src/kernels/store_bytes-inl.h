// Two vectors of whole numbers as bytes, in their order, included once for each SIMD target.
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

// T: int8 or uint8. Numbers beyond it saturate.
template <class T, class D>
HWY_INLINE void StoreBytes(D d, hwy::HWY_NAMESPACE::Vec<D> one, hwy::HWY_NAMESPACE::Vec<D> two, T* to) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_AVX2
  // They become one vector of 16 bytes, whose second and third four are exchanged.
  const hn::Repartition<std::int16_t, D> wide;
  const hn::Rebind<T, decltype(wide)> narrow;
  HWY_ALIGN static constexpr T kOrder[16] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
  const auto bytes = hn::DemoteTo(narrow, hn::ReorderDemote2To(wide, one, two));
  hn::StoreU(hn::TableLookupBytes(bytes, hn::Load(narrow, kOrder)), narrow, to);
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
