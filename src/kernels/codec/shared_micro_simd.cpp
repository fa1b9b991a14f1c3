// SIMD twin of formats/shared_micro.cpp: blocks with a shared exponent, and pairs with one more shared bit.
#include "formats/shared_micro.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/shared_micro_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/block_tiles-inl.h"

#ifndef ANYBIT_KERNELS_MICRO_SIMD_ONCE_
#define ANYBIT_KERNELS_MICRO_SIMD_ONCE_
namespace anybit::kernels {
// Shared microexponents: sign-magnitude, in steps of 2^(E - bits), or half of that where the bit of a pair is
// set.
struct MicroConstants {
  IntegerConstants element;
  int bits = 0;
  TileRule tiles;
  static bool reaches(int e) { return e >= -125 && e <= 127; }
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// A bit for each lane's pair within the vector.
HWY_INLINE VU PairBits() {
  static constexpr std::uint32_t kBits[] = {1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 32, 64, 64, 128, 128};
  return hn::LoadU(DU(), kBits);
}

// Calls vector(values, mask of finer pairs, i) along a block; the last vector is padded with zeros.
template <class Vector>
HWY_INLINE void AlongBinary(const float* x, std::size_t n, const std::uint32_t* shifts, VU pair_bits,
                            const Vector& vector) {
  const DF d;
  const DU du;
  const auto finer = [&](std::size_t i) HWY_ATTR {
    const VU bits = hn::Set(du, shifts[i / 64] >> (i / 2 % 32));
    return hn::RebindMask(d, hn::Ne(hn::And(bits, pair_bits), hn::Zero(du)));
  };
  Strides(
      n, [&](std::size_t i) HWY_ATTR { vector(hn::LoadU(d, x + i), finer(i), i, hn::Lanes(d)); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        vector(hn::Load(d, buffer), finer(i), i, rest);
      });
}

std::size_t RoundMicro(const MicroConstants& c, const Groups& shape, std::size_t g, const float* x,
                       const std::uint32_t* words, float* out) {
  const DF d;
  const IntegerElement element(c.element);
  const VU pair_bits = PairBits();
  const std::size_t lanes = hn::Lanes(d);
  for (; g < shape.groups; ++g) {
    const int e = static_cast<int>(words[g * shape.stride]);
    if (!MicroConstants::reaches(e)) break;
    const VF coarse_pre = hn::Set(d, formats::power_of_two(-e)), fine_pre = hn::Add(coarse_pre, coarse_pre);
    const VF coarse_post = hn::Set(d, formats::power_of_two(e - c.bits));
    const VF fine_post = hn::Set(d, formats::power_of_two(e - c.bits - 1));
    float* to = out + g * shape.size;
    AlongBinary(x + g * shape.size, shape.size, words + g * shape.stride + 1, pair_bits,
                [&](VF v, auto finer, std::size_t i, std::size_t n) HWY_ATTR {
                  const VF scaled = hn::Mul(v, hn::IfThenElse(finer, fine_pre, coarse_pre));
                  const VF made =
                      hn::Mul(element.Round(scaled), hn::IfThenElse(finer, fine_post, coarse_post));
                  if (n == lanes) {
                    hn::StoreU(made, d, to + i);
                  } else {
                    HWY_ALIGN float buffer[hn::MaxLanes(d)];
                    hn::Store(made, d, buffer);
                    std::memcpy(to + i, buffer, n * sizeof(float));
                  }
                });
  }
  return g;
}

std::size_t CodeMicro(const MicroConstants& c, const Groups& shape, std::size_t g, const float* x,
                      const std::uint32_t* words, CodesOut codes) {
  const DF d;
  const IntegerElement element(c.element);
  const VU pair_bits = PairBits();
  const std::size_t lanes = hn::Lanes(d);
  for (; g < shape.groups; ++g) {
    const int e = static_cast<int>(words[g * shape.stride]);
    if (!MicroConstants::reaches(e)) break;
    const VF coarse_pre = hn::Set(d, formats::power_of_two(-e)), fine_pre = hn::Add(coarse_pre, coarse_pre);
    (codes + g * shape.size).visit([&](auto* to) HWY_ATTR {
      AlongBinary(x + g * shape.size, shape.size, words + g * shape.stride + 1, pair_bits,
                  [&](VF v, auto finer, std::size_t i, std::size_t n) HWY_ATTR {
                    const VU made = element.Code(hn::Mul(v, hn::IfThenElse(finer, fine_pre, coarse_pre)));
                    if (n == lanes) {
                      StoreCodes(made, to + i);
                    } else {
                      std::remove_pointer_t<decltype(to)> buffer[hn::MaxLanes(d)];
                      StoreCodes(made, buffer);
                      std::memcpy(to + i, buffer, n * sizeof(*to));
                    }
                  });
    });
  }
  return g;
}

// Decodes codes to values, in steps.
std::size_t DecodeMicro(const MicroConstants& c, const Groups& shape, std::size_t g, CodesIn codes,
                        const std::uint32_t* words, float* out) {
  const DF d;
  const DI di;
  const DU du;
  const IntegerDecoder decoder(c.element);
  const VU pair_bits = PairBits();
  for (; g < shape.groups; ++g) {
    const std::uint32_t* mine = words + g * shape.stride;
    const int e = static_cast<int>(mine[0]);
    if (!MicroConstants::reaches(e)) break;
    const VF coarse = hn::Set(d, formats::power_of_two(e - c.bits));
    const VF fine = hn::Set(d, formats::power_of_two(e - c.bits - 1));
    const auto decode = [&](VI code, std::size_t i) HWY_ATTR {
      const VU bits = hn::And(hn::Set(du, mine[1 + i / 64] >> (i / 2 % 32)), pair_bits);
      const auto finer = hn::RebindMask(d, hn::Ne(bits, hn::Zero(du)));
      return hn::Mul(decoder(code), hn::IfThenElse(finer, fine, coarse));
    };
    float* to = out + g * shape.size;
    (codes + g * shape.size).visit([&](const auto* from) HWY_ATTR {
      using Code = std::remove_cv_t<std::remove_pointer_t<decltype(from)>>;
      const hn::Rebind<Code, DI> dc;
      Strides(
          shape.size,
          [&](std::size_t i)
              HWY_ATTR { hn::StoreU(decode(hn::PromoteTo(di, hn::LoadU(dc, from + i)), i), d, to + i); },
          [&](std::size_t i, std::size_t rest) HWY_ATTR {
            HWY_ALIGN Code in[hn::MaxLanes(d)] = {};
            HWY_ALIGN float made[hn::MaxLanes(d)];
            std::memcpy(in, from + i, rest * sizeof(Code));
            hn::Store(decode(hn::PromoteTo(di, hn::Load(dc, in)), i), d, made);
            std::memcpy(to + i, made, rest * sizeof(float));
          });
    });
  }
  return g;
}

// Blocks of an even number of vectors whose shift bits fit one word.
bool MicroTilesFit(std::size_t size) { return FitsTiles(size) && size > hn::Lanes(DF()) && size <= 64; }

#if HWY_TARGET == HWY_SCALAR
std::size_t ChooseAndRoundMicro(const MicroConstants&, const Groups&, std::size_t g, const float*,
                                std::uint32_t*, float*) {
  return g;
}
std::size_t ChooseAndCodeMicro(const MicroConstants&, const Groups&, std::size_t g, const float*,
                               std::uint32_t*, std::uint8_t*) {
  return g;
}
std::size_t DecodeMicroTiles(const MicroConstants&, const Groups&, std::size_t g, const std::uint8_t*,
                             const std::uint32_t*, float*) {
  return g;
}
#else
// The pairs of a block that use the finer step: those whose larger magnitude rounds to a number that has a
// code in that step, below 2^bits - ½ steps. (The tie rounds up, to the even number.)
template <std::size_t kVectors>
HWY_INLINE std::uint32_t Shifts(const float* x, VI limit) {
  const DI di;
  const std::size_t lanes = hn::Lanes(di);
  std::uint32_t shifts = 0;
  for (std::size_t i = 0; i < kVectors; i += 2) {
    const VI low = Magnitudes(x + i * lanes), high = Magnitudes(x + (i + 1) * lanes);
    const VI largest = hn::Max(hn::ConcatEven(di, high, low), hn::ConcatOdd(di, high, low));
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(di, hn::Lt(largest, limit), bits);
    shifts |= static_cast<std::uint32_t>(bits[0]) << (i * lanes / 2);
  }
  return shifts;
}

// Which pairs of these values are finer.
HWY_INLINE hn::Mask<DF> Finer(const float* x, VI limit) {
  const VI magnitudes = Magnitudes(x);
  return hn::RebindMask(DF(), hn::Lt(hn::Max(magnitudes, hn::Shuffle2301(magnitudes)), limit));
}

// Calls body(x, first block, factors before, factors after, limits of the finer step) for each tile; the
// factors are those of the coarser step.
template <std::size_t kVectors, class Body>
HWY_INLINE std::size_t ForMicroTiles(const MicroConstants& c, const Groups& shape, std::size_t g,
                                     const float* x, std::uint32_t* words, const Body& body) {
  const DF d;
  const DI di;
  const VI before = hn::Set(di, c.tiles.before), after = hn::Set(di, c.tiles.after);
  const VF halves = hn::Set(d, 0.25f * static_cast<float>((2 << c.bits) - 1));
  for (; g + kTileBlocks <= shape.groups; g += kTileBlocks) {
    const float* from = x + g * kVectors * hn::Lanes(di);
    const TileExponents tile = ChooseExponents(c.tiles, LargestOfTile<kVectors>(from));
    if (!tile.done) break;
    const VF post = PowersOfTwo(hn::Add(after, tile.used));
    const VI limits = hn::BitCast(di, hn::Mul(halves, post));
    std::int32_t chosen[4];
    StoreFour(di, tile.chosen, chosen);
    ForTile([&](auto block) HWY_ATTR {
      constexpr int kBlock = decltype(block)::value;
      std::uint32_t* mine = words + (g + kBlock) * 2;
      mine[0] = static_cast<std::uint32_t>(chosen[kBlock]);
      mine[1] = Shifts<kVectors>(from + kBlock * kVectors * hn::Lanes(di), hn::Broadcast<kBlock>(limits));
    });
    body(from, g, PowersOfTwo(hn::Sub(before, tile.used)), post, limits);
  }
  return g;
}

// The factors of one block.
struct MicroFactors {
  template <int kBlock>
  HWY_INLINE MicroFactors(std::integral_constant<int, kBlock>, VF pre, VF post, VI limits)
      : limit(hn::Broadcast<kBlock>(limits)),
        before(hn::Broadcast<kBlock>(pre)),
        finer_before(hn::Add(before, before)),
        after(hn::Broadcast<kBlock>(post)),
        finer_after(hn::Mul(after, hn::Set(DF(), 0.5f))) {}
  VI limit;
  VF before, finer_before, after, finer_after;
};

std::size_t ChooseAndRoundMicro(const MicroConstants& c, const Groups& shape, std::size_t g, const float* x,
                                std::uint32_t* words, float* out) {
  const DF d;
  const FiniteSignMagnitude element(c.element);
  return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kVectors = decltype(vectors)::value;
    const std::size_t lanes = hn::Lanes(d);
    return ForMicroTiles<kVectors>(
        c, shape, g, x, words,
        [&](const float* from, std::size_t first, VF pre, VF post, VI limits) HWY_ATTR {
          float* to = out + first * kVectors * lanes;
          ForTile([&](auto block) HWY_ATTR {
            const MicroFactors f(block, pre, post, limits);
            for (std::size_t i = 0; i < kVectors; ++i, from += lanes, to += lanes) {
              const auto finer = Finer(from, f.limit);
              const VF scaled = hn::Mul(hn::LoadU(d, from), hn::IfThenElse(finer, f.finer_before, f.before));
              hn::StoreU(hn::Mul(element.Round(scaled), hn::IfThenElse(finer, f.finer_after, f.after)), d,
                         to);
            }
          });
        });
  });
}

std::size_t ChooseAndCodeMicro(const MicroConstants& c, const Groups& shape, std::size_t g, const float* x,
                               std::uint32_t* words, std::uint8_t* codes) {
  const DF d;
  const FiniteSignMagnitude element(c.element);
  return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kVectors = decltype(vectors)::value;
    const std::size_t lanes = hn::Lanes(d);
    return ForMicroTiles<kVectors>(
        c, shape, g, x, words,
        [&](const float* from, std::size_t first, VF pre, VF post, VI limits) HWY_ATTR {
          const MicroFactors f[] = {MicroFactors(std::integral_constant<int, 0>(), pre, post, limits),
                                    MicroFactors(std::integral_constant<int, 1>(), pre, post, limits),
                                    MicroFactors(std::integral_constant<int, 2>(), pre, post, limits),
                                    MicroFactors(std::integral_constant<int, 3>(), pre, post, limits)};
          StoreTile<kVectors>(
              [&](std::size_t block, std::size_t i) HWY_ATTR {
                const float* mine = from + (block * kVectors + i) * lanes;
                const auto finer = Finer(mine, f[block].limit);
                return element.Code(hn::Mul(hn::LoadU(d, mine),
                                            hn::IfThenElse(finer, f[block].finer_before, f[block].before)));
              },
              codes + first * kVectors * lanes);
        });
  });
}

// For steps that are normal float32 numbers: the finer step has the bits of the coarser one, minus one
// exponent.
std::size_t DecodeMicroTiles(const MicroConstants& c, const Groups& shape, std::size_t g,
                             const std::uint8_t* codes, const std::uint32_t* words, float* out) {
  const IntegerDecoder decoder(c.element);
  const VU pair_bits = PairBits();
  return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
    constexpr std::size_t kVectors = decltype(vectors)::value;
    const DF d;
    const DI di;
    const DU du;
    const hn::Rebind<std::uint8_t, DI> d8;
    const std::size_t lanes = hn::Lanes(d), size = kVectors * lanes;
    std::size_t at = g;
    for (; at < shape.groups; ++at) {
      const int e = static_cast<int>(words[2 * at]);
      if (e < c.tiles.low || e > c.tiles.high) break;
      const VU shifts = hn::Set(du, words[2 * at + 1]);
      const VU step = hn::Set(du, static_cast<std::uint32_t>(e + c.tiles.after + 127) << 23);
      for (std::size_t i = 0; i < kVectors; ++i) {
        const VU mine = hn::And(hn::ShiftRightSame(shifts, static_cast<int>(i * lanes / 2)), pair_bits);
        const auto coarser = hn::Eq(mine, hn::Zero(du));
        const VU factor = hn::Sub(step, hn::IfThenZeroElse(coarser, hn::Set(du, 1u << 23)));
        const VI code = hn::PromoteTo(di, hn::LoadU(d8, codes + at * size + i * lanes));
        hn::StoreU(hn::Mul(decoder(code), hn::BitCast(d, factor)), d, out + at * size + i * lanes);
      }
    }
    return at;
  });
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "formats/block.hpp"
#include "kernels/codec/block_run_kernel.hpp"
#include "kernels/reduce/block_maxima.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundMicro);
HWY_EXPORT(CodeMicro);
HWY_EXPORT(DecodeMicro);
HWY_EXPORT(MicroTilesFit);
HWY_EXPORT(ChooseAndRoundMicro);
HWY_EXPORT(ChooseAndCodeMicro);
HWY_EXPORT(DecodeMicroTiles);

class MicroKernel final : public BlockRunKernel {
 public:
  MicroKernel(const std::shared_ptr<const formats::Codec>& codec, const formats::SharedMicroCodec& micro)
      : BlockRunKernel(codec), codec_(codec), micro_(micro) {
    const int bits = constants_.bits = micro.magnitude_bits();
    const auto largest = static_cast<float>((1 << bits) - 1);
    constants_.element = {.units = formats::power_of_two(bits),
                          .lowest = -largest,
                          .highest = largest,
                          .mask = 0,
                          .sign_code = 1u << bits};
    using formats::SharedMicroCodec;
    TileRule& tiles = constants_.tiles;
    tiles = {.rule = ExponentRule::fitting(bits, SharedMicroCodec::kLowestExponent,
                                           SharedMicroCodec::kHighestExponent),
             .before = bits + 1,  // of the finer step
             .after = -bits - 1,
             .low = -125,
             .high = 127,
             .zero = SharedMicroCodec::kLowestExponent,
             .zeros = true};
    tiles.keep_factors_normal();
    tiles.before = bits, tiles.after = -bits;
  }

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    with_block_maxima(shape, x, [&](std::size_t g, std::uint32_t largest) {
      choose_block({x + g * shape.size, shape.size}, largest, {words + g * shape.stride, shape.stride});
    });
  }

 protected:
  std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                           float* out) const override {
    return HWY_DYNAMIC_DISPATCH(RoundMicro)(constants_, shape, g, x, words, out);
  }
  std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                          CodesOut codes) const override {
    return HWY_DYNAMIC_DISPATCH(CodeMicro)(constants_, shape, g, x, words, codes);
  }
  std::size_t decode_blocks(const Groups& shape, std::size_t g, CodesIn codes, const std::uint32_t* words,
                            float* out) const override {
    if (codes.bytes != nullptr && tiles(shape.size)) {
      g = HWY_DYNAMIC_DISPATCH(DecodeMicroTiles)(constants_, shape, g, codes.bytes, words, out);
    }
    return HWY_DYNAMIC_DISPATCH(DecodeMicro)(constants_, shape, g, codes, words, out);
  }
  bool tiles(std::size_t size) const override { return HWY_DYNAMIC_DISPATCH(MicroTilesFit)(size); }
  std::size_t choose_and_round_tiles(const Groups& shape, std::size_t g, const float* x, std::uint32_t* words,
                                     float* out) const override {
    return HWY_DYNAMIC_DISPATCH(ChooseAndRoundMicro)(constants_, shape, g, x, words, out);
  }
  std::size_t choose_and_code_tiles(const Groups& shape, std::size_t g, const float* x, std::uint32_t* words,
                                    std::uint8_t* codes) const override {
    return HWY_DYNAMIC_DISPATCH(ChooseAndCodeMicro)(constants_, shape, g, x, words, codes);
  }

 private:
  void choose_block(std::span<const float> x, std::uint32_t largest, formats::Words words) const {
    const int e = largest < formats::kInfinityBits ? micro_.exponent_for(formats::float_of(largest)) : 0;
    if (largest >= formats::kInfinityBits || !MicroConstants::reaches(e)) {
      micro_.choose(x, words);
      return;
    }
    words[0] = formats::word_of(e);
    std::fill(words.begin() + 1, words.end(), 0u);
    // A pair uses the finer step if its larger magnitude rounds to a number that has a code in that step,
    // below 2^bits - ½ steps. (The tie rounds up, to the even number.) Magnitudes compare like their bits.
    const int bits = constants_.bits;
    const float limit = static_cast<float>((1 << (bits + 1)) - 1) * formats::power_of_two(e - bits - 2);
    const std::uint32_t limit_bits = formats::bits_of(limit);
    for (std::size_t first = 0; first < x.size(); first += 64) {
      const std::size_t end = std::min(x.size(), first + 64);
      std::uint32_t shifts = 0;
      for (std::size_t i = first; i < end; i += 2) {
        const std::uint32_t other = i + 1 < end ? formats::magnitude_bits(x[i + 1]) : 0;
        const std::uint32_t shift = std::max(formats::magnitude_bits(x[i]), other) < limit_bits ? 1 : 0;
        shifts |= shift << (i / 2 % 32);
      }
      words[1 + first / 64] = shifts;
    }
  }

  std::shared_ptr<const formats::Codec> codec_;  // keeps micro_ alive
  const formats::SharedMicroCodec& micro_;
  MicroConstants constants_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* micro = dynamic_cast<const formats::SharedMicroCodec*>(codec.get());
  return micro == nullptr ? nullptr : std::make_unique<const MicroKernel>(codec, *micro);
}

}  // namespace

std::span<const Descriptor> shared_micro_simd_descriptors() {
  static const Descriptor all[] = {{.name = "shared_micro", .kernel = GroupCodec{make}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
