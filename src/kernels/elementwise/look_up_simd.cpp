// The table is 16 vectors of 16 entries: each is indexed by the low four bits of a code, and the high four
// select among the results.
#include "kernels/elementwise/look_up.hpp"

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/look_up_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ANYBIT_KERNELS_LOOK_UP_ONCE_
#define ANYBIT_KERNELS_LOOK_UP_ONCE_
namespace anybit::kernels {
struct LookUpWork {
  const std::uint8_t *from, *table;
  std::uint8_t* to;
  std::size_t n;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline std::size_t LookUpVectors(const std::uint8_t*, const std::uint8_t*, std::uint8_t*, std::size_t) {
  return 0;
}
#else
using DB = hn::ScalableTag<std::uint8_t>;
using VB = hn::Vec<DB>;

// Selects `yes` where bit kBit of a code is set.
template <int kBit>
HWY_INLINE VB Choose(VB bytes, VB yes, VB no) {
  const hn::RebindToSigned<DB> ds;
  const hn::Repartition<std::uint16_t, DB> dh;
  // Shifting 16-bit lanes is fine: only the highest bit of each byte is used.
  const auto top = hn::BitCast(ds, hn::ShiftLeft<7 - kBit>(hn::BitCast(dh, bytes)));
  return hn::BitCast(DB(), hn::IfNegativeThenElse(top, hn::BitCast(ds, yes), hn::BitCast(ds, no)));
}

// Entries [first, first + 2^kBit), for bytes whose higher bits are those of `first`.
template <int kBit>
HWY_INLINE VB Answers(VB bytes, VB low, const std::uint8_t* table) {
  if constexpr (kBit == 4) {
    return hn::TableLookupBytes(hn::LoadDup128(DB(), table), low);
  } else {
    const VB no = Answers<kBit - 1>(bytes, low, table);
    const VB yes = Answers<kBit - 1>(bytes, low, table + (1 << (kBit - 1)));
    return Choose<kBit - 1>(bytes, yes, no);
  }
}

HWY_INLINE std::size_t LookUpVectors(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to,
                                     std::size_t n) {
  const DB d;
  const std::size_t lanes = hn::Lanes(d);
  const VB mask = hn::Set(d, 15);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VB bytes = hn::LoadU(d, from + i);
    hn::StoreU(Answers<8>(bytes, hn::And(bytes, mask), table), d, to + i);
  }
  return i;
}
#endif

void LookUpBytes(const LookUpWork& of) {
  for (std::size_t i = LookUpVectors(of.from, of.table, of.to, of.n); i < of.n; ++i)
    of.to[i] = of.table[of.from[i]];
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> look_up_simd_descriptors() {
  using enum Instructions;
  static const Descriptor all[] = {
      {"shuffles", "8 bits", "", avx2, false, 0, LookUp{HWY_CHOOSE_AVX2(LookUpBytes)}},
      {"shuffles", "8 bits", "", baseline, true, 0, LookUp{HWY_STATIC_DISPATCH(LookUpBytes)}},
  };
  return all;
}

void look_up(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to, std::size_t n) {
  const LookUpWork work{from, table, to, n};
  choose<LookUp>(work).run(work);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
