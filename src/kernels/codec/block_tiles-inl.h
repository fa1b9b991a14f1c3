// Tiles of four blocks of finite values. The largest magnitudes of the four are in one vector, so that
// choosing four exponents costs as much as choosing one, and elements need no checks for Inf and NaN. Same
// results as block by block; tiles with subnormal maxima or factors outside float32's normal range are left
// to that path.
#if defined(ANYBIT_KERNELS_BLOCK_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_BLOCK_TILES_INL_H_
#undef ANYBIT_KERNELS_BLOCK_TILES_INL_H_
#else
#define ANYBIT_KERNELS_BLOCK_TILES_INL_H_
#endif

#include <bit>
#include <type_traits>

#include "kernels/codec/minifloat_element-inl.h"
#include "kernels/codec/shared_exponent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

inline constexpr std::size_t kTileBlocks = 4;

// Adding 2^23 times the step of a value's binade rounds it half to even.
class FiniteMinifloat {
 public:
  explicit FiniteMinifloat(const MinifloatConstants& c)
      : shift_(c.shift),
        sign_shift_(c.sign_shift),
        largest_(hn::BitCast(DF(), hn::Set(DI(), c.largest_bits))),
        lowest_normal_(hn::Set(DI(), c.lowest_normal)),
        up_(hn::Set(DI(), c.shift << 23)) {}

  HWY_INLINE VF Round(VF x) const {
    const VF magnitude = hn::Min(hn::Abs(x), largest_);
    const VF magic = hn::BitCast(DF(), hn::Add(Binade(magnitude), up_));
    return hn::CopySignToAbs(hn::Sub(hn::Add(magnitude, magic), magic), x);
  }
  // Steps above the start of the binade, plus the codes below it.
  HWY_INLINE VU Code(VF x) const {
    const DI di;
    const VF magnitude = hn::Min(hn::Abs(x), largest_);
    const VI binade = Binade(magnitude), magic = hn::Add(binade, up_);
    const VI sum = hn::BitCast(di, hn::Add(magnitude, hn::BitCast(DF(), magic)));
    const VI below = hn::ShiftRightSame(hn::Sub(binade, lowest_normal_), shift_);
    return hn::Or(hn::BitCast(DU(), hn::Add(hn::Sub(sum, magic), below)), SignCode(x, sign_shift_));
  }
  static HWY_INLINE VU SignCode(VF x, int shift) {
    const DU du;
    return hn::ShiftRightSame(hn::And(hn::BitCast(du, x), hn::Set(du, 0x80000000u)), shift);
  }

 private:
  HWY_INLINE VI Binade(VF magnitude) const {
    const DI di;
    return hn::Max(hn::And(hn::BitCast(di, magnitude), hn::Set(di, 0x7F800000)), lowest_normal_);
  }
  int shift_, sign_shift_;
  VF largest_;
  VI lowest_normal_, up_;
};

// Integers; the step is part of the factor that values are multiplied by beforehand.
class FiniteSignMagnitude {
 public:
  explicit FiniteSignMagnitude(const IntegerConstants& c)
      : sign_shift_(std::countl_zero(c.sign_code)), highest_(hn::Set(DF(), c.highest)) {}
  HWY_INLINE VF Round(VF x) const { return hn::CopySignToAbs(hn::Sub(Sum(x), hn::Set(DF(), 0x1p23f)), x); }
  HWY_INLINE VU Code(VF x) const {
    const VU whole = hn::Xor(hn::BitCast(DU(), Sum(x)), hn::BitCast(DU(), hn::Set(DF(), 0x1p23f)));
    return hn::Or(whole, FiniteMinifloat::SignCode(x, sign_shift_));
  }

 private:
  HWY_INLINE VF Sum(VF x) const { return hn::Add(hn::Min(hn::Abs(x), highest_), hn::Set(DF(), 0x1p23f)); }
  int sign_shift_;
  VF highest_;
};

class FiniteTwosComplement {
 public:
  explicit FiniteTwosComplement(const IntegerConstants& c)
      : lowest_(hn::Set(DF(), c.lowest)), highest_(hn::Set(DF(), c.highest)), mask_(hn::Set(DU(), c.mask)) {}
  HWY_INLINE VF Round(VF x) const { return hn::Sub(Sum(x), hn::Set(DF(), 0x1.8p23f)); }
  HWY_INLINE VU Code(VF x) const { return hn::And(hn::BitCast(DU(), Sum(x)), mask_); }

 private:
  HWY_INLINE VF Sum(VF x) const {
    return hn::Add(hn::Min(hn::Max(x, lowest_), highest_), hn::Set(DF(), 0x1.8p23f));
  }
  VF lowest_, highest_;
  VU mask_;
};

#if HWY_TARGET != HWY_SCALAR

HWY_INLINE VI Magnitudes(const float* x) {
  const DI di;
  return hn::And(hn::BitCast(di, hn::LoadU(DF(), x)), hn::Set(di, 0x7FFFFFFF));
}

// The largest magnitudes of four consecutive blocks, as bits, repeated in every four lanes.
template <std::size_t kVectors>
HWY_INLINE VI LargestOfTile(const float* x) {
  const DI di;
  const hn::Repartition<std::int64_t, DI> d64;
  const std::size_t lanes = hn::Lanes(di);
  const auto largest = [&](std::size_t block) HWY_ATTR {
    const float* from = x + block * kVectors * lanes;
    VI all = Magnitudes(from);
    for (std::size_t i = 1; i < kVectors; ++i) all = hn::Max(all, Magnitudes(from + i * lanes));
    return all;
  };
  const auto fold = [&](VI a, VI b) HWY_ATTR {
    return hn::Max(hn::InterleaveLower(di, a, b), hn::InterleaveUpper(di, a, b));
  };
  const auto ab = hn::BitCast(d64, fold(largest(0), largest(1)));
  const auto cd = hn::BitCast(d64, fold(largest(2), largest(3)));
  const VI all = hn::Max(hn::BitCast(di, hn::InterleaveLower(d64, ab, cd)),
                         hn::BitCast(di, hn::InterleaveUpper(d64, ab, cd)));
  if constexpr (hn::MaxLanes(DI()) == 8) {
    return hn::Max(all, hn::ConcatLowerUpper(di, all, all));
  } else {
    return all;
  }
}

// 2^e for e in -126 … 127.
HWY_INLINE VF PowersOfTwo(VI e) {
  return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(e, hn::Set(DI(), 127))));
}

// 2^e for e in -149 … 127.
HWY_INLINE VF AnyPowersOfTwo(VI e) {
  const DI di;
  const VI place = hn::Max(hn::Add(e, hn::Set(di, 149)), hn::Zero(di));
  const VI subnormal = hn::Shl(hn::Set(di, 1), hn::Min(place, hn::Set(di, 22)));
  return hn::IfThenElse(hn::RebindMask(DF(), hn::Lt(e, hn::Set(di, -126))), hn::BitCast(DF(), subnormal),
                        PowersOfTwo(e));
}

// The exponents of a tile: those chosen, and those to scale with, which differ for blocks of zeros.
struct TileExponents {
  VI chosen, used;
  bool done;  // false: do these blocks one by one
};
HWY_INLINE TileExponents ChooseExponents(const TileRule& r, VI largest) {
  const DI di;
  const auto zero = hn::Eq(largest, hn::Zero(di));
  const VI code = hn::ShiftRight<23>(hn::Add(largest, hn::Set(di, r.rule.carry)));
  const VI wanted = hn::Add(hn::Min(code, hn::Set(di, r.rule.top)), hn::Set(di, r.rule.offset));
  const VI e = hn::Min(hn::Max(wanted, hn::Set(di, r.rule.low)), hn::Set(di, r.rule.high));
  const auto normal =
      hn::And(hn::Gt(largest, hn::Set(di, 0x007FFFFF)), hn::Lt(largest, hn::Set(di, 0x7F800000)));
  const auto near = hn::And(hn::Gt(e, hn::Set(di, r.low - 1)), hn::Lt(e, hn::Set(di, r.high + 1)));
  const auto easy = hn::And(normal, near);
  return {hn::IfThenElse(zero, hn::Set(di, r.zero), e), hn::IfThenElse(zero, hn::Set(di, r.low), e),
          hn::AllTrue(di, r.zeros ? hn::Or(zero, easy) : easy)};
}

// Stores the first four lanes.
template <class D>
HWY_INLINE void StoreFour(D d, hn::Vec<D> v, std::int32_t* out) {
  if constexpr (hn::MaxLanes(D()) == 8) {
    const hn::Half<D> half;
    hn::StoreU(hn::LowerHalf(half, v), half, out);
  } else {
    hn::StoreU(v, d, out);
  }
}

// Calls body(index of the block, as a constant) four times.
template <class Body>
HWY_INLINE void ForTile(const Body& body) {
  body(std::integral_constant<int, 0>());
  body(std::integral_constant<int, 1>());
  body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, 3>());
}

// Stores code(block, vector in the block) for all vectors of a tile, four at a time.
template <std::size_t kVectors, class Make>
HWY_INLINE void StoreTile(const Make& code, std::uint8_t* out) {
  const std::size_t lanes = hn::Lanes(DF());
  const auto at = [&](std::size_t i) HWY_ATTR { return code(i / kVectors, i % kVectors); };
  for (std::size_t i = 0; i < kTileBlocks * kVectors; i += 4) {
    StoreCodes(at(i), at(i + 1), at(i + 2), at(i + 3), out + i * lanes);
  }
}

// Calls body(number of vectors per block, as a constant).
template <class Body>
HWY_INLINE std::size_t WithVectors(std::size_t size, const Body& body) {
  switch (size / hn::Lanes(DF())) {
    case 1:
      return body(std::integral_constant<std::size_t, 1>());
    case 2:
      return body(std::integral_constant<std::size_t, 2>());
    case 4:
      return body(std::integral_constant<std::size_t, 4>());
    default:
      return body(std::integral_constant<std::size_t, 8>());
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

// Whether a block of this size is a multiple of a vector that WithVectors supports.
HWY_INLINE bool FitsTiles([[maybe_unused]] std::size_t size) {
#if HWY_TARGET == HWY_SCALAR
  return false;
#else
  const std::size_t lanes = hn::Lanes(DF()), vectors = size / lanes;
  return size % lanes == 0 && vectors >= 1 && vectors <= 8 && std::has_single_bit(vectors);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
