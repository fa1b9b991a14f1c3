// Packing handles eight codes at a time in a 64-bit word, and several words at once: neighbours are joined in
// up to three steps (8 → 2·b → 4·b → 8·b bits), then the bytes are moved together. Unpacking does the
// reverse.
#include "kernels/codec/packing.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/packing.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#ifndef ANYBIT_KERNELS_PACKING_ONCE_
#define ANYBIT_KERNELS_PACKING_ONCE_
namespace anybit::kernels {

static_assert(std::endian::native == std::endian::little,
              "words are read and written as little-endian bytes");

inline std::uint64_t low_bits(int bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
std::size_t PackVectors(const std::uint8_t*, std::size_t, int, std::uint8_t*) { return 0; }
std::size_t UnpackVectors(const std::uint8_t*, std::size_t, int, std::uint8_t*) { return 0; }
#else
using D8 = hn::CappedTag<std::uint8_t, 32>;
using D64 = hn::Repartition<std::uint64_t, D8>;
using V8 = hn::Vec<D8>;
using V64 = hn::Vec<D64>;

// Neighbours are joined until they fill complete bytes: one step for 4 bits, two for other even widths, three
// for odd ones.
template <int kSteps>
class VectorSteps {
 public:
  explicit VectorSteps(int b)
      : bits_(b),
        one_(hn::Set(D64(), 0x0001000100010001ull * low_bits(b))),
        two_(hn::Set(D64(), 0x0000000100000001ull * low_bits(2 * b))),
        four_(hn::Set(D64(), low_bits(4 * b))),
        one_up_(hn::ShiftLeftSame(one_, b)),
        two_up_(hn::ShiftLeftSame(two_, 2 * b)),
        four_up_(hn::ShiftLeftSame(four_, 4 * b)) {}

  HWY_INLINE V64 Join(V64 x) const {
    x = hn::Or(hn::And(x, one_), hn::And(hn::ShiftRightSame(x, 8 - bits_), one_up_));
    if (kSteps > 1) x = hn::Or(hn::And(x, two_), hn::And(hn::ShiftRightSame(x, 16 - 2 * bits_), two_up_));
    if (kSteps > 2) x = hn::Or(hn::And(x, four_), hn::And(hn::ShiftRightSame(x, 32 - 4 * bits_), four_up_));
    return x;
  }
  HWY_INLINE V64 Split(V64 x) const {
    if (kSteps > 2) x = hn::Or(hn::And(x, four_), hn::ShiftLeftSame(hn::And(x, four_up_), 32 - 4 * bits_));
    if (kSteps > 1) x = hn::Or(hn::And(x, two_), hn::ShiftLeftSame(hn::And(x, two_up_), 16 - 2 * bits_));
    return hn::Or(hn::And(x, one_), hn::ShiftLeftSame(hn::And(x, one_up_), 8 - bits_));
  }

 private:
  int bits_;
  V64 one_, two_, four_, one_up_, two_up_, four_up_;
};

template <class Body>
HWY_INLINE std::size_t WithSteps(int bits, const Body& body) {
  if (bits == 4) return body(std::integral_constant<int, 1>());
  if (bits % 2 == 0) return body(std::integral_constant<int, 2>());
  return body(std::integral_constant<int, 3>());
}

// Shuffles for 128 bits at a time, because bytes move within 128-bit lanes: of each 2^steps bytes, the first
// few are used.
struct Shuffles {
  Shuffles(int steps, int bits) {
    const int lane = 1 << steps, used = lane * bits / 8;
    for (int i = 0; i < 16; ++i) {
      const int from = i / used * lane + i % used;
      together[i] = static_cast<std::uint8_t>(from < 16 ? from : 0x80);
      apart[i] = static_cast<std::uint8_t>(i % lane < used ? i / lane * used + i % lane : 0x80);
    }
  }
  alignas(16) std::uint8_t together[16], apart[16];
};

// Loads 128-bit lanes that are `step` bytes apart.
template <class D>
HWY_INLINE void StoreParts(D d, hn::Vec<D> v, std::size_t step, std::uint8_t* out) {
  if constexpr (hn::MaxLanes(D()) == 32) {
    const hn::Half<D> half;
    hn::StoreU(hn::LowerHalf(half, v), half, out);
    hn::StoreU(hn::UpperHalf(half, v), half, out + step);
  } else {
    hn::StoreU(v, d, out);
  }
}
template <class D>
HWY_INLINE hn::Vec<D> LoadParts(D d, std::size_t step, const std::uint8_t* in) {
  if constexpr (hn::MaxLanes(D()) == 32) {
    const hn::Half<D> half;
    return hn::Combine(d, hn::LoadU(half, in + step), hn::LoadU(half, in));
  } else {
    return hn::LoadU(d, in);
  }
}

// Calls body(first code, its byte) for full vectors while no byte past the packed ones is touched. Returns
// the number of codes processed.
template <class Body>
HWY_INLINE std::size_t ForVectors(std::size_t n, int bits, const Body& body) {
  const std::size_t lanes = hn::Lanes(D8()), bytes = packed_size(n, bits), parts = lanes / 16;
  const std::size_t step = 2 * static_cast<std::size_t>(bits), reach = (parts - 1) * step + 16;
  std::size_t i = 0;
  for (std::size_t at = 0; at + reach <= bytes && i + lanes <= n; i += lanes, at += parts * step) {
    body(i, at);
  }
  return i;
}

// Sixteen bytes are stored though only some are used; the next store overwrites the rest.
std::size_t PackVectors(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out) {
  return WithSteps(bits, [&](auto count) HWY_ATTR {
    const D8 d;
    const VectorSteps<decltype(count)::value> steps(bits);
    const Shuffles shuffles(count, bits);
    const V8 together = hn::LoadDup128(d, shuffles.together);
    return ForVectors(n, bits, [&](std::size_t i, std::size_t at) HWY_ATTR {
      const V64 joined = steps.Join(hn::BitCast(D64(), hn::LoadU(d, codes + i)));
      const V8 dense = hn::TableLookupBytesOr0(hn::BitCast(d, joined), together);
      StoreParts(d, dense, 2 * static_cast<std::size_t>(bits), out + at);
    });
  });
}

std::size_t UnpackVectors(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes) {
  return WithSteps(bits, [&](auto count) HWY_ATTR {
    const D8 d;
    const VectorSteps<decltype(count)::value> steps(bits);
    const Shuffles shuffles(count, bits);
    const V8 apart = hn::LoadDup128(d, shuffles.apart);
    return ForVectors(n, bits, [&](std::size_t i, std::size_t at) HWY_ATTR {
      const V8 dense = LoadParts(d, 2 * static_cast<std::size_t>(bits), packed + at);
      const V64 words = hn::BitCast(D64(), hn::TableLookupBytesOr0(dense, apart));
      hn::StoreU(hn::BitCast(d, steps.Split(words)), d, codes + i);
    });
  });
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace anybit::kernels {
namespace {

HWY_EXPORT(PackVectors);
HWY_EXPORT(UnpackVectors);

// Four codes of 9 … 15 bits in a word of four 16-bit lanes: two steps.
struct WideSteps {
  explicit WideSteps(int b) : bits(b) {
    one = 0x0000000100000001ull * low_bits(b);
    two = low_bits(2 * b);
  }
  std::uint64_t join(std::uint64_t x) const {
    x = (x & one) | ((x >> (16 - bits)) & (one << bits));
    return (x & two) | ((x >> (32 - 2 * bits)) & (two << (2 * bits)));
  }
  std::uint64_t split(std::uint64_t x) const {
    x = (x & two) | ((x << (32 - 2 * bits)) & (two << 32));
    return (x & one) | ((x << (16 - bits)) & (one << 16));
  }
  int bits;
  std::uint64_t one, two;
};

// The scalar fallback, for the end of a row and for wide codes.
template <class Code>
void pack_tail(const Code* codes, std::size_t n, int bits, std::uint8_t* out) {
  std::uint64_t held = 0;
  int count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    held |= static_cast<std::uint64_t>(codes[i]) << count;
    for (count += bits; count >= 8; count -= 8, held >>= 8) *out++ = static_cast<std::uint8_t>(held);
  }
  if (count > 0) *out = static_cast<std::uint8_t>(held);
}

template <class Code>
void unpack_tail(const std::uint8_t* packed, std::size_t n, int bits, Code* codes) {
  std::uint64_t held = 0;
  int count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (; count < bits; count += 8) held |= static_cast<std::uint64_t>(*packed++) << count;
    codes[i] = static_cast<Code>(held & low_bits(bits));
    held >>= bits;
    count -= bits;
  }
}

}  // namespace

void pack(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out) {
  if (bits == 8) {
    if (n > 0) std::memcpy(out, codes, n);
    return;
  }
  const std::size_t done = HWY_DYNAMIC_DISPATCH(PackVectors)(codes, n, bits, out);
  pack_tail(codes + done, n - done, bits, out + packed_size(done, bits));
}

void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes) {
  if (bits == 8) {
    if (n > 0) std::memcpy(codes, packed, n);
    return;
  }
  const std::size_t done = HWY_DYNAMIC_DISPATCH(UnpackVectors)(packed, n, bits, codes);
  unpack_tail(packed + packed_size(done, bits), n - done, bits, codes + done);
}

void pack(const std::uint16_t* codes, std::size_t n, int bits, std::uint8_t* out) {
  if (bits == 16) {
    if (n > 0) std::memcpy(out, codes, 2 * n);
    return;
  }
  std::size_t i = 0, at = 0;
  if (bits > 8) {
    const WideSteps steps(bits);
    const std::size_t bytes = packed_size(n, bits);
    for (; at + 16 <= bytes && i + 8 <= n; i += 8, at += static_cast<std::size_t>(bits)) {
      std::uint64_t x[2];
      std::memcpy(x, codes + i, 16);
      const std::uint64_t low = steps.join(x[0]), high = steps.join(x[1]);
      x[0] = low | (high << (4 * bits));
      x[1] = high >> (64 - 4 * bits);
      std::memcpy(out + at, x, 16);
    }
  }
  pack_tail(codes + i, n - i, bits, out + at);
}

void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint16_t* codes) {
  if (bits == 16) {
    if (n > 0) std::memcpy(codes, packed, 2 * n);
    return;
  }
  std::size_t i = 0, at = 0;
  if (bits > 8) {
    const WideSteps steps(bits);
    const std::size_t bytes = packed_size(n, bits);
    for (; at + 16 <= bytes && i + 8 <= n; i += 8, at += static_cast<std::size_t>(bits)) {
      std::uint64_t x[2];
      std::memcpy(x, packed + at, 16);
      x[1] = steps.split((x[0] >> (4 * bits)) | (x[1] << (64 - 4 * bits)));
      x[0] = steps.split(x[0]);
      std::memcpy(codes + i, x, 16);
    }
  }
  unpack_tail(packed + at, n - i, bits, codes + i);
}

template <class Code>
void pack_fives(const Code* codes, std::size_t n, std::uint8_t* out) {
  constexpr int kDigits[] = {0, 1, 0, 2};
  for (std::size_t i = 0; i < n; i += 5) {
    int byte = 0;
    for (std::size_t j = std::min(i + 5, n); j-- > i;) byte = 3 * byte + kDigits[codes[j] & 3];
    *out++ = static_cast<std::uint8_t>(byte);
  }
}

template <class Code>
void unpack_fives(const std::uint8_t* packed, std::size_t n, Code* codes) {
  constexpr Code kCodes[] = {0, 1, 3};
  for (std::size_t i = 0; i < n; i += 5) {
    int byte = *packed++;
    if (byte > 242) byte = 0;
    for (std::size_t j = i; j < i + 5 && j < n; ++j, byte /= 3) codes[j] = kCodes[byte % 3];
  }
}

template void pack_fives(const std::uint8_t*, std::size_t, std::uint8_t*);
template void pack_fives(const std::uint16_t*, std::size_t, std::uint8_t*);
template void unpack_fives(const std::uint8_t*, std::size_t, std::uint8_t*);
template void unpack_fives(const std::uint8_t*, std::size_t, std::uint16_t*);

}  // namespace anybit::kernels
#endif  // HWY_ONCE
