// SIMD twin of the block formats with a power-of-two scale: formats/mx.cpp, block_fp.cpp, block_minifloat.cpp
// and block_log.cpp. They differ in their elements and in how a block's word follows from its largest
// magnitude.
#include "formats/block_fp.hpp"
#include "formats/block_log.hpp"
#include "formats/block_minifloat.hpp"
#include "formats/mx.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/shared_exponent_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/block_tiles-inl.h"
#include "kernels/codec/log_element-inl.h"

#ifndef ANYBIT_KERNELS_SHARED_EXPONENT_SIMD_ONCE_
#define ANYBIT_KERNELS_SHARED_EXPONENT_SIMD_ONCE_
namespace anybit::kernels {
struct BlockElements {
  enum class Kind { minifloat, integer, log } kind = Kind::minifloat;
  MinifloatConstants minifloat;
  IntegerConstants integer;
  formats::LogLayout log;
  SharedExponent scale;
  TileRule tiles;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

template <class Body>
HWY_INLINE std::size_t WithElement(const BlockElements& e, const Body& body) {
  switch (e.kind) {
    case BlockElements::Kind::minifloat:
      return body(MinifloatElement(e.minifloat));
    case BlockElements::Kind::integer:
      return body(IntegerElement(e.integer));
    case BlockElements::Kind::log:
      break;
  }
  return body(LogElement(e.log));
}

std::size_t RoundBlock(const BlockElements& e, const Groups& shape, std::size_t g, const float* x,
                       const std::uint32_t* words, float* out) {
  return WithElement(e, [&](const auto& element)
                            HWY_ATTR { return RoundBlocks(element, e.scale, shape, g, x, words, out); });
}

std::size_t CodeBlock(const BlockElements& e, const Groups& shape, std::size_t g, const float* x,
                      const std::uint32_t* words, CodesOut codes) {
  return WithElement(e, [&](const auto& element)
                            HWY_ATTR { return CodeBlocks(element, e.scale, shape, g, x, words, codes); });
}

template <class Body>
HWY_INLINE std::size_t WithDecoder(const BlockElements& e, const Body& body) {
  switch (e.kind) {
    case BlockElements::Kind::minifloat:
      return WithMinifloatDecoder(e.minifloat, body);
    case BlockElements::Kind::integer:
      return body(IntegerDecoder(e.integer));
    case BlockElements::Kind::log:
      break;
  }
  return body(LogDecoder(e.log));
}

std::size_t DecodeBlock(const BlockElements& e, const Groups& shape, std::size_t g, CodesIn codes,
                        const std::uint32_t* words, float* out) {
  return WithDecoder(e, [&](const auto& decoder)
                            HWY_ATTR { return DecodeBlocks(decoder, e.scale, shape, g, codes, words, out); });
}

bool TilesFit(std::size_t size) { return FitsTiles(size); }

#if HWY_TARGET == HWY_SCALAR
std::size_t ChooseAndRoundTiles(const BlockElements&, const Groups&, std::size_t g, const float*,
                                std::uint32_t*, float*) {
  return g;
}
std::size_t ChooseAndCodeTiles(const BlockElements&, const Groups&, std::size_t g, const float*,
                               std::uint32_t*, std::uint8_t*) {
  return g;
}
std::size_t DecodeTiles(const BlockElements&, const Groups&, std::size_t g, const std::uint8_t*,
                        const std::uint32_t*, float*) {
  return g;
}
#else
template <class Body>
HWY_INLINE std::size_t WithFinite(const BlockElements& e, const Body& body) {
  switch (e.kind) {
    case BlockElements::Kind::minifloat:
      return body(FiniteMinifloat(e.minifloat));
    case BlockElements::Kind::integer:
      return e.integer.sign_code == 0 ? body(FiniteTwosComplement(e.integer))
                                      : body(FiniteSignMagnitude(e.integer));
    case BlockElements::Kind::log:
      break;
  }
  return body(LogElement(e.log));
}

// Calls body(x, factors before, factors after, first block) for each tile, until a tile has a block that must
// be done individually.
template <std::size_t kVectors, class Body>
HWY_INLINE std::size_t ForTiles(const BlockElements& e, const Groups& shape, std::size_t g, const float* x,
                                std::uint32_t* words, const Body& body) {
  const DI di;
  const VI before = hn::Set(di, e.tiles.before), after = hn::Set(di, e.tiles.after);
  const VI sign = hn::Set(di, e.scale.sign < 0 ? -1 : 0);
  for (; g + kTileBlocks <= shape.groups; g += kTileBlocks) {
    const float* from = x + g * kVectors * hn::Lanes(di);
    const TileExponents tile = ChooseExponents(e.tiles, LargestOfTile<kVectors>(from));
    if (!tile.done) break;
    const VI word = hn::Sub(hn::Xor(tile.chosen, sign), sign);
    StoreFour(di, word, reinterpret_cast<std::int32_t*>(words + g));
    body(from, PowersOfTwo(hn::Sub(before, tile.used)), PowersOfTwo(hn::Add(after, tile.used)), g);
  }
  return g;
}

std::size_t ChooseAndRoundTiles(const BlockElements& e, const Groups& shape, std::size_t g, const float* x,
                                std::uint32_t* words, float* out) {
  return WithFinite(e, [&](const auto& element) HWY_ATTR {
    return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
      constexpr std::size_t kVectors = decltype(vectors)::value;
      const DF d;
      const std::size_t lanes = hn::Lanes(d);
      return ForTiles<kVectors>(
          e, shape, g, x, words, [&](const float* from, VF pre, VF post, std::size_t first) HWY_ATTR {
            float* to = out + first * kVectors * lanes;
            ForTile([&](auto block) HWY_ATTR {
              const VF before = hn::Broadcast<decltype(block)::value>(pre);
              const VF after = hn::Broadcast<decltype(block)::value>(post);
              for (std::size_t i = 0; i < kVectors; ++i, from += lanes, to += lanes) {
                hn::StoreU(hn::Mul(element.Round(hn::Mul(hn::LoadU(d, from), before)), after), d, to);
              }
            });
          });
    });
  });
}

std::size_t ChooseAndCodeTiles(const BlockElements& e, const Groups& shape, std::size_t g, const float* x,
                               std::uint32_t* words, std::uint8_t* codes) {
  return WithFinite(e, [&](const auto& element) HWY_ATTR {
    return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
      constexpr std::size_t kVectors = decltype(vectors)::value;
      const DF d;
      const std::size_t lanes = hn::Lanes(d);
      return ForTiles<kVectors>(
          e, shape, g, x, words, [&](const float* from, VF pre, VF, std::size_t first) HWY_ATTR {
            const VF before[] = {hn::Broadcast<0>(pre), hn::Broadcast<1>(pre), hn::Broadcast<2>(pre),
                                 hn::Broadcast<3>(pre)};
            StoreTile<kVectors>(
                [&](std::size_t block, std::size_t i) HWY_ATTR {
                  return element.Code(
                      hn::Mul(hn::LoadU(d, from + (block * kVectors + i) * lanes), before[block]));
                },
                codes + first * kVectors * lanes);
          });
    });
  });
}

std::size_t DecodeTiles(const BlockElements& e, const Groups& shape, std::size_t g, const std::uint8_t* codes,
                        const std::uint32_t* words, float* out) {
  return WithDecoder(e, [&](const auto& decoder) HWY_ATTR {
    return WithVectors(shape.size, [&](auto vectors) HWY_ATTR {
      constexpr std::size_t kVectors = decltype(vectors)::value;
      const DF d;
      const DI di;
      const hn::Rebind<std::uint8_t, DI> d8;
      const std::size_t lanes = hn::Lanes(d);
      const VI sign = hn::Set(di, e.scale.sign < 0 ? -1 : 0);
      const VI below = hn::Set(di, e.scale.low - 1), above = hn::Set(di, e.scale.high + 1);
      std::size_t at = g;
      for (; at + kTileBlocks <= shape.groups; at += kTileBlocks) {
        const VI word = hn::LoadDup128(di, reinterpret_cast<const std::int32_t*>(words + at));
        const VI exponents = hn::Sub(hn::Xor(word, sign), sign);
        if (!hn::AllTrue(di, hn::And(hn::Gt(exponents, below), hn::Lt(exponents, above)))) break;
        const VF factors = AnyPowersOfTwo(hn::Add(exponents, hn::Set(di, e.scale.after)));
        const std::uint8_t* from = codes + at * kVectors * lanes;
        float* to = out + at * kVectors * lanes;
        ForTile([&](auto block) HWY_ATTR {
          const VF factor = hn::Broadcast<decltype(block)::value>(factors);
          for (std::size_t i = 0; i < kVectors; ++i, from += lanes, to += lanes) {
            hn::StoreU(hn::Mul(decoder(hn::PromoteTo(di, hn::LoadU(d8, from))), factor), d, to);
          }
        });
      }
      return at;
    });
  });
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <optional>

#include "formats/float_bits.hpp"
#include "kernels/codec/block_run_kernel.hpp"
#include "kernels/codec/quark_kernel.hpp"
#include "kernels/reduce/block_maxima.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundBlock);
HWY_EXPORT(CodeBlock);
HWY_EXPORT(DecodeBlock);
HWY_EXPORT(TilesFit);
HWY_EXPORT(ChooseAndRoundTiles);
HWY_EXPORT(ChooseAndCodeTiles);
HWY_EXPORT(DecodeTiles);

// The word of a block with this finite largest magnitude.
int word_for(const formats::MxCodec& codec, float largest) { return codec.exponent_for(largest); }
int word_for(const formats::BlockFpCodec& codec, float largest) { return codec.exponent_for(largest); }
int word_for(const formats::BlockMinifloatCodec& codec, float largest) { return codec.bias_for(largest); }
int word_for(const formats::BlockLogCodec& codec, float largest) { return codec.bias_for(largest); }

template <class Codec>
class BlockKernel final : public BlockRunKernel {
 public:
  BlockKernel(const std::shared_ptr<const formats::Codec>& codec, const Codec& known,
              const BlockElements& elements)
      : BlockRunKernel(codec), codec_(codec), known_(known), elements_(elements) {}

  // Padded to the next tile size, if there is one as large: tiles are powers of two, up to 64 values.
  std::size_t filled_up(std::size_t size) const override {
    for (std::size_t padded = std::bit_ceil(size); padded <= 64; padded *= 2) {
      if (tiles(padded)) return padded;
    }
    return size;
  }

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    block_maxima(shape, x, words);
    for (std::size_t g = 0; g < shape.groups; ++g) {
      std::uint32_t& word = words[g * shape.stride];
      if (word < 0x7F800000u) {
        word = static_cast<std::uint32_t>(word_for(known_, formats::float_of(word)));
      } else {  // the codec decides about Inf and NaN
        known_.choose({x + g * shape.size, shape.size}, {&word, shape.stride});
      }
    }
  }

 protected:
  std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                           float* out) const override {
    return HWY_DYNAMIC_DISPATCH(RoundBlock)(elements_, shape, g, x, words, out);
  }
  std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                          CodesOut codes) const override {
    return HWY_DYNAMIC_DISPATCH(CodeBlock)(elements_, shape, g, x, words, codes);
  }
  bool tiles(std::size_t size) const override { return HWY_DYNAMIC_DISPATCH(TilesFit)(size); }
  std::size_t choose_and_round_tiles(const Groups& shape, std::size_t g, const float* x, std::uint32_t* words,
                                     float* out) const override {
    return HWY_DYNAMIC_DISPATCH(ChooseAndRoundTiles)(elements_, shape, g, x, words, out);
  }
  std::size_t choose_and_code_tiles(const Groups& shape, std::size_t g, const float* x, std::uint32_t* words,
                                    std::uint8_t* codes) const override {
    return HWY_DYNAMIC_DISPATCH(ChooseAndCodeTiles)(elements_, shape, g, x, words, codes);
  }
  std::size_t decode_blocks(const Groups& shape, std::size_t g, CodesIn codes, const std::uint32_t* words,
                            float* out) const override {
    if (codes.bytes != nullptr && tiles(shape.size)) {
      g = HWY_DYNAMIC_DISPATCH(DecodeTiles)(elements_, shape, g, codes.bytes, words, out);
    }
    return HWY_DYNAMIC_DISPATCH(DecodeBlock)(elements_, shape, g, codes, words, out);
  }

 private:
  std::shared_ptr<const formats::Codec> codec_;  // keeps known_ alive
  const Codec& known_;
  BlockElements elements_;
};

// The elements of a format family; empty if the fast kernel does not support them. Blocks whose values may
// overflow float32, or that would lose bits by scaling, are excluded by the bounds low and high; the plain
// kernel does them.

// The rule for the loops over tiles, from the exponent rule and the elements. Integers are scaled to units
// directly.
TileRule tiles_of(const ExponentRule& rule, const BlockElements& e, int zero_word) {
  const bool integer = e.kind == BlockElements::Kind::integer;
  TileRule tiles = {.rule = rule,
                    .before = e.scale.before + (integer ? formats::exponent_of(e.integer.units) : 0),
                    .after = e.scale.after,
                    .low = e.scale.low,
                    .high = e.scale.high,
                    .zero = e.scale.sign * zero_word,
                    .zeros = e.kind != BlockElements::Kind::log};
  tiles.keep_factors_normal();
  return tiles;
}

ExponentRule rule_of(const formats::MxCodec& codec) {
  using formats::MxCodec, formats::ScaleOverflow, formats::ScaleRule;
  const ScaleOverflow overflow = codec.options().scale_overflow;
  const ScaleRule scale_rule = codec.options().scale_rule;
  ExponentRule rule = {
      .offset = -127 - codec.element().largest_exponent(),
      .low = codec.lowest_exponent(),
      .high = overflow == ScaleOverflow::nan ? MxCodec::kNanExponent : MxCodec::kHighestExponent};
  if (scale_rule == ScaleRule::ceil) rule.carry = ExponentRule::kUnlessPowerOfTwo;
  if (scale_rule == ScaleRule::even) rule.carry = 1 << (22 - codec.element().mantissa_bits());
  return rule;
}

ExponentRule rule_of(const formats::BlockFpCodec& codec) {
  const formats::BlockFpLayout& layout = codec.layout();
  const int low = layout.lowest_exponent(), high = layout.highest_exponent();
  if (layout.rule == formats::BlockFpLayout::Rule::floor) return {.offset = -126, .low = low, .high = high};
  if (layout.rule == formats::BlockFpLayout::Rule::fit) {
    return ExponentRule::fitting(layout.magnitude_bits(), low, high);
  }
  return {.carry = ExponentRule::kUnlessPowerOfTwo, .offset = -127, .low = low, .high = high};
}

ExponentRule rule_of(const formats::BlockMinifloatCodec& codec) {
  return {.offset = -126 - (1 << codec.layout(0).exponent_bits),
          .low = -codec.highest_bias(),
          .high = -codec.lowest_bias()};
}

ExponentRule rule_of(const formats::BlockLogCodec& codec) {
  return {.carry = 0x00800000 - static_cast<int>(formats::kAboveRootOfTwo),
          .top = 254,
          .offset = -127 - codec.highest_code(),
          .low = -codec.highest_bias(),
          .high = -codec.lowest_bias()};
}

std::optional<BlockElements> elements_of(const formats::MxCodec& codec) {
  if (codec.options().nonfinite == formats::Nonfinite::element) return std::nullopt;
  const int emax = codec.element().largest_exponent();
  BlockElements e;
  if (codec.element().integer) {
    e.kind = BlockElements::Kind::integer;
    e.integer = {
        .units = 64, .lowest = codec.options().symmetric ? -127.0f : -128.0f, .highest = 127, .mask = 0xFF};
    e.scale = {.low = -127, .high = 126, .before = 0, .after = -6};
    return e;
  }
  const auto constants = constants_of(codec.element().layout, true);
  if (!constants) return std::nullopt;
  e.minifloat = *constants;
  e.scale = {.low = -127, .high = 127 - emax, .before = 0, .after = 0};
  return e;
}

std::optional<BlockElements> elements_of(const formats::BlockFpCodec& codec) {
  const formats::BlockFpLayout& layout = codec.layout();
  if (layout.quark || layout.rule == formats::BlockFpLayout::Rule::fit_positive) return std::nullopt;
  const int bits = codec.layout().magnitude_bits();
  const auto largest = static_cast<float>(codec.layout().largest_magnitude());
  BlockElements e;
  e.kind = BlockElements::Kind::integer;
  e.integer = {.units = formats::power_of_two(bits),
               .lowest = -largest,
               .highest = largest,
               .mask = 0,
               .sign_code = 1u << bits};
  e.scale = {.low = -127, .high = 127, .before = 0, .after = -bits};
  return e;
}

std::optional<BlockElements> elements_of(const formats::BlockMinifloatCodec& codec) {
  const int bias = 1 << (codec.layout(0).exponent_bits - 1), top = 1 << codec.layout(0).exponent_bits;
  const auto constants = constants_of(codec.layout(bias), true);
  if (!constants || codec.layout(0).exponent_bits > 6) return std::nullopt;
  BlockElements e;
  e.minifloat = *constants;
  e.scale = {.low = -126 - bias,
             .high = std::min(128 - top, 126 - bias),
             .before = -bias,
             .after = bias,
             .sign = -1};
  return e;
}

std::optional<BlockElements> elements_of(const formats::BlockLogCodec& codec) {
  const int bias = 1 << (codec.bits() - 2);
  BlockElements e;
  e.kind = BlockElements::Kind::log;
  e.log = {.bits = codec.bits(), .bias = bias, .with_zero = codec.with_zero()};
  // Values are only scaled up: a small negative value must not become a zero, which has no sign here.
  e.scale = {.low = -126 - bias,
             .high = std::min(127 - codec.highest_code(), -bias),
             .before = -bias,
             .after = bias,
             .sign = -1};
  return e;
}

template <class Codec>
std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* known = dynamic_cast<const Codec*>(codec.get());
  if (known == nullptr) return nullptr;
  if (auto quark = quark_kernel(codec, formats::Rounding::half_even)) return quark;
  if (known->bits() > 8) return nullptr;
  std::optional<BlockElements> elements = elements_of(*known);
  if (!elements) return nullptr;
  elements->tiles = tiles_of(rule_of(*known), *elements, word_for(*known, 0));
  return std::make_unique<const BlockKernel<Codec>>(codec, *known, *elements);
}

}  // namespace

std::span<const Descriptor> shared_exponent_simd_descriptors() {
  static const Descriptor all[] = {
      {.name = "block_fp", .kernel = GroupCodec{make<formats::BlockFpCodec>, quark_kernel}},
      {.name = "block_log", .kernel = GroupCodec{make<formats::BlockLogCodec>}},
      {.name = "block_minifloat", .kernel = GroupCodec{make<formats::BlockMinifloatCodec>}},
      {.name = "mx", .kernel = GroupCodec{make<formats::MxCodec>}},
  };
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
