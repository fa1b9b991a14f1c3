// SIMD twin of the block formats that share a power of two: formats/mx.cpp, block_fp.cpp, block_minifloat.cpp
// and block_log.cpp. They differ in their elements and in how a block's word comes from its largest
// magnitude.
#include "formats/block_fp.hpp"
#include "formats/block_log.hpp"
#include "formats/block_minifloat.hpp"
#include "formats/mx.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/shared_exponent_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/log_element-inl.h"
#include "kernels/minifloat_element-inl.h"
#include "kernels/shared_exponent-inl.h"

#ifndef ANYBIT_KERNELS_SHARED_EXPONENT_SIMD_ONCE_
#define ANYBIT_KERNELS_SHARED_EXPONENT_SIMD_ONCE_
namespace anybit::kernels {
struct BlockElements {
  enum class Kind { minifloat, whole, log } kind = Kind::minifloat;
  MinifloatConstants minifloat;
  WholeConstants whole;
  formats::LogLayout log;
  SharedExponent scale;
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
    case BlockElements::Kind::whole:
      return body(WholeElement(e.whole));
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

void LargestOfEach(const Groups& shape, const float* x, std::uint32_t* words) {
  LargestOfBlocks(shape, x, words);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <optional>

#include "formats/float_bits.hpp"
#include "kernels/block_run_kernel.hpp"
#include "kernels/table.hpp"
#include "kernels/table_decode.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundBlock);
HWY_EXPORT(CodeBlock);
HWY_EXPORT(LargestOfEach);

// The word of a block whose largest magnitude is this finite one.
int word_for(const formats::MxCodec& codec, float largest) { return codec.exponent_for(largest); }
int word_for(const formats::BlockFpCodec& codec, float largest) { return codec.exponent_for(largest); }
int word_for(const formats::BlockMinifloatCodec& codec, float largest) { return codec.bias_for(largest); }
int word_for(const formats::BlockLogCodec& codec, float largest) { return codec.bias_for(largest); }

template <class Codec>
class BlockKernel final : public BlockRunKernel {
 public:
  BlockKernel(const std::shared_ptr<const formats::Codec>& codec, const Codec& known,
              const BlockElements& elements)
      : BlockRunKernel(codec),
        codec_(codec),
        known_(known),
        elements_(elements),
        table_(*codec, std::array<std::uint32_t, 1>{0}) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    HWY_DYNAMIC_DISPATCH(LargestOfEach)(shape, x, words);
    for (std::size_t g = 0; g < shape.groups; ++g) {
      std::uint32_t& word = words[g * shape.stride];
      if (word < 0x7F800000u) {
        word = static_cast<std::uint32_t>(word_for(known_, formats::float_of(word)));
      } else {  // what Inf and NaN mean for a block is the codec's business
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
  // The table has the values of a block whose word is 0; all of them are float32 values.
  std::size_t decode_blocks(const Groups& shape, std::size_t g, CodesIn codes, const std::uint32_t* words,
                            float* out) const override {
    for (; g < shape.groups; ++g) {
      const int e = elements_.scale.exponent(words[g * shape.stride]);
      if (!elements_.scale.reaches(e)) break;
      table_.run(codes + g * shape.size, shape.size, formats::power_of_two(e), out + g * shape.size);
    }
    return g;
  }

 private:
  std::shared_ptr<const formats::Codec> codec_;  // keeps known_ alive
  const Codec& known_;
  BlockElements elements_;
  DecodeTable table_;
};

// What a family's elements are, or nothing if they are beyond the fast way. Blocks whose values may leave
// float32, and those where scaling would lose bits, are left to the plain kernel by the bounds low and high.

std::optional<BlockElements> elements_of(const formats::MxCodec& codec) {
  if (codec.options().nonfinite == formats::Nonfinite::element) return std::nullopt;
  const int emax = codec.element().largest_exponent();
  BlockElements e;
  if (codec.element().integer) {
    e.kind = BlockElements::Kind::whole;
    e.whole = {
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
  const int bits = codec.layout().magnitude_bits();
  const auto largest = static_cast<float>(codec.layout().largest_magnitude());
  BlockElements e;
  e.kind = BlockElements::Kind::whole;
  e.whole = {.units = formats::power_of_two(bits),
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
  // Values are only scaled up: a small negative one must not become a zero, which has no sign here.
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
  if (known == nullptr || known->bits() > 8) return nullptr;
  const std::optional<BlockElements> elements = elements_of(*known);
  return elements ? std::make_unique<const BlockKernel<Codec>>(codec, *known, *elements) : nullptr;
}

}  // namespace

std::span<const Descriptor> shared_exponent_simd_descriptors() {
  static const Descriptor all[] = {
      {.name = "block_fp", .make = make<formats::BlockFpCodec>},
      {.name = "block_log", .make = make<formats::BlockLogCodec>},
      {.name = "block_minifloat", .make = make<formats::BlockMinifloatCodec>},
      {.name = "mx", .make = make<formats::MxCodec>},
  };
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
