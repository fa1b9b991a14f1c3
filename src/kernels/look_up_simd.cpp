// The table is 16 vectors of 16 entries: each is asked by a code's low four bits, and the high ones choose
// among the answers.
#include "kernels/look_up.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/look_up_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

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

// Where bit kBit of a code is set, `yes`.
template <int kBit>
HWY_INLINE VB Choose(VB codes, VB yes, VB no) {
  const hn::RebindToSigned<DB> ds;
  const hn::Repartition<std::uint16_t, DB> dh;
  // Shifting pairs of bytes is fine: only the highest bit of each byte counts.
  const auto top = hn::BitCast(ds, hn::ShiftLeft<7 - kBit>(hn::BitCast(dh, codes)));
  return hn::BitCast(DB(), hn::IfNegativeThenElse(top, hn::BitCast(ds, yes), hn::BitCast(ds, no)));
}

// Entries [first, first + 2^kBit) for codes whose higher bits are those of `first`.
template <int kBit>
HWY_INLINE VB Answers(VB codes, VB low, const std::uint8_t* table) {
  if constexpr (kBit == 4) {
    return hn::TableLookupBytes(hn::LoadDup128(DB(), table), low);
  } else {
    const VB no = Answers<kBit - 1>(codes, low, table);
    const VB yes = Answers<kBit - 1>(codes, low, table + (1 << (kBit - 1)));
    return Choose<kBit - 1>(codes, yes, no);
  }
}

HWY_INLINE std::size_t LookUpVectors(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to,
                                     std::size_t n) {
  const DB d;
  const std::size_t lanes = hn::Lanes(d);
  const VB mask = hn::Set(d, 15);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VB codes = hn::LoadU(d, from + i);
    hn::StoreU(Answers<8>(codes, hn::And(codes, mask), table), d, to + i);
  }
  return i;
}
#endif

void LookUp(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to, std::size_t n) {
  for (std::size_t i = LookUpVectors(from, table, to, n); i < n; ++i) to[i] = table[from[i]];
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(LookUp);

void look_up(const std::uint8_t* from, const std::uint8_t* table, std::uint8_t* to, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(LookUp)(from, table, to, n);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
