// Loops over arrays of floats, included once for each SIMD target. An element is a struct with
//   VF Round(VF x)   the nearest value, and
//   VU Code(VF x)    its code in 32-bit lanes,
// both for values already divided by the scale of their group. The unusual include guard is Highway's, for
// files that are included once per target.
#if defined(ANYBIT_KERNELS_GROUP_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_GROUP_LOOPS_INL_H_
#undef ANYBIT_KERNELS_GROUP_LOOPS_INL_H_
#else
#define ANYBIT_KERNELS_GROUP_LOOPS_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/codec/group_kernel.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most eight lanes: blocks are often that short, and memory bandwidth is the limit anyway.
using DF = hn::CappedTag<float, 8>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;
using VI = hn::Vec<DI>;

// How a value is scaled for its element: by one exact multiplication, or by a division where the scale is no
// power of two.
struct Multiply {
  HWY_INLINE VF operator()(VF x, VF scale) const { return hn::Mul(x, scale); }
};
struct Divide {
  HWY_INLINE VF operator()(VF x, VF scale) const { return hn::Div(x, scale); }
};

// Calls vector(i) for full vectors, then tail(i, rest) once if any values remain.
template <class Vector, class Tail>
HWY_INLINE void Strides(std::size_t n, const Vector& vector, const Tail& tail) {
  const std::size_t lanes = hn::Lanes(DF());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) vector(i);
  if (i < n) tail(i, n - i);
}

// out = round(x ∘ pre) · post
template <class Element, class Before>
HWY_INLINE void RoundRun(const Element& element, const Before& before, const float* x, std::size_t n,
                         float pre, float post, float* out) {
  const DF d;
  const VF first = hn::Set(d, pre), last = hn::Set(d, post);
  const auto one = [&](VF v) HWY_ATTR { return hn::Mul(element.Round(before(v, first)), last); };
  Strides(
      n, [&](std::size_t i) HWY_ATTR { hn::StoreU(one(hn::LoadU(d, x + i)), d, out + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        hn::Store(one(hn::Load(d, buffer)), d, buffer);
        std::memcpy(out + i, buffer, rest * sizeof(float));
      });
}

HWY_INLINE void StoreCodes(VU codes, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, DU> d8;
  hn::StoreU(hn::U8FromU32(codes), d8, out);
}
HWY_INLINE void StoreCodes(VU codes, std::uint16_t* out) {
  const hn::Rebind<std::uint16_t, DU> d16;
  hn::StoreU(hn::DemoteTo(d16, hn::BitCast(DI(), codes)), d16, out);
}

// Four vectors of codes at once.
template <class Code>
HWY_INLINE void StoreApart(VU a, VU b, VU c, VU d, Code* out) {
  const std::size_t lanes = hn::Lanes(DU());
  StoreCodes(a, out);
  StoreCodes(b, out + lanes);
  StoreCodes(c, out + 2 * lanes);
  StoreCodes(d, out + 3 * lanes);
}
HWY_INLINE void StoreCodes(VU a, VU b, VU c, VU d, std::uint16_t* out) { StoreApart(a, b, c, d, out); }
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void StoreCodes(VU a, VU b, VU c, VU d, std::uint8_t* out) { StoreApart(a, b, c, d, out); }
#else
// The four vectors are merged into the bytes of one, which are then sorted: first within 128 bits, then
// across.
HWY_INLINE void StoreCodes(VU a, VU b, VU c, VU d, std::uint8_t* out) {
  alignas(16) static constexpr std::uint8_t kBytes[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                          2, 6, 10, 14, 3, 7, 11, 15};
  alignas(32) static constexpr std::uint32_t kLanes[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const DU du;
  const hn::Repartition<std::uint8_t, DU> d8;
  const VU low = hn::Or(a, hn::ShiftLeft<8>(b)), high = hn::Or(c, hn::ShiftLeft<8>(d));
  const auto merged = hn::BitCast(d8, hn::Or(low, hn::ShiftLeft<16>(high)));
  VU sorted = hn::BitCast(du, hn::TableLookupBytes(merged, hn::LoadDup128(d8, kBytes)));
  if constexpr (hn::MaxLanes(DU()) == 8) {
    sorted = hn::TableLookupLanes(sorted, hn::SetTableIndices(du, kLanes));
  }
  hn::StoreU(hn::BitCast(d8, sorted), d8, out);
}
#endif

// codes = code(x ∘ pre)
template <class Element, class Before>
HWY_INLINE void CodeRun(const Element& element, const Before& before, const float* x, std::size_t n,
                        float pre, CodesOut codes) {
  const DF d;
  const VF first = hn::Set(d, pre);
  codes.visit([&](auto* to) HWY_ATTR {
    const auto code = [&](std::size_t i)
                          HWY_ATTR { return element.Code(before(hn::LoadU(d, x + i), first)); };
    const std::size_t lanes = hn::Lanes(d);
    std::size_t done = 0;
    for (; done + 4 * lanes <= n; done += 4 * lanes) {
      StoreCodes(code(done), code(done + lanes), code(done + 2 * lanes), code(done + 3 * lanes), to + done);
    }
    x += done, to += done;
    Strides(
        n - done, [&](std::size_t i) HWY_ATTR { StoreCodes(code(i), to + i); },
        [&](std::size_t i, std::size_t rest) HWY_ATTR {
          HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
          std::remove_pointer_t<decltype(to)> made[hn::MaxLanes(d)];
          std::memcpy(buffer, x + i, rest * sizeof(float));
          StoreCodes(element.Code(before(hn::Load(d, buffer), first)), made);
          std::memcpy(to + i, made, rest * sizeof(*to));
        });
  });
}

// out = decode(code), for codes in 32-bit lanes
template <class Decode>
HWY_INLINE void DecodeRun(const Decode& decode, CodesIn codes, std::size_t n, float* out) {
  const DF d;
  const DI di;
  codes.visit([&](const auto* from) HWY_ATTR {
    using Code = std::remove_cv_t<std::remove_pointer_t<decltype(from)>>;
    const hn::Rebind<Code, DI> dc;
    Strides(
        n,
        [&](std::size_t i)
            HWY_ATTR { hn::StoreU(decode(hn::PromoteTo(di, hn::LoadU(dc, from + i))), d, out + i); },
        [&](std::size_t i, std::size_t rest) HWY_ATTR {
          HWY_ALIGN Code in[hn::MaxLanes(d)] = {};
          HWY_ALIGN float made[hn::MaxLanes(d)];
          std::memcpy(in, from + i, rest * sizeof(Code));
          hn::Store(decode(hn::PromoteTo(di, hn::Load(dc, in))), d, made);
          std::memcpy(out + i, made, rest * sizeof(float));
        });
  });
}

// The largest magnitude as float32 bits, so that infinities and NaNs stay visible.
HWY_INLINE std::uint32_t LargestBits(const float* x, std::size_t n) {
  const DF d;
  const DI di;
  const VI magnitude = hn::Set(di, 0x7FFFFFFF);
  VI largest = hn::Zero(di);
  std::uint32_t rest_largest = 0;
  Strides(
      n,
      [&](std::size_t i)
          HWY_ATTR { largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), magnitude)); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        for (std::size_t j = i; j < i + rest; ++j) {
          std::uint32_t bits;
          std::memcpy(&bits, x + j, 4);
          rest_largest = HWY_MAX(rest_largest, bits & 0x7FFFFFFFu);
        }
      });
  const auto vector_largest = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
  return HWY_MAX(vector_largest, rest_largest);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
