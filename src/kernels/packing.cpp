// Packing works on eight codes at a time in one 64-bit word: neighbours are joined in three steps (8 → 2·b →
// 4·b → 8·b bits), and taken apart the same way. No CPU-specific instruction is needed to be far faster than
// memory.
#include "kernels/packing.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace anybit::kernels {
namespace {

static_assert(std::endian::native == std::endian::little,
              "words are read and written as little-endian bytes");

std::uint64_t low_bits(int bits) { return bits >= 64 ? ~0ull : (1ull << bits) - 1; }

// The masks of the three steps for codes of b bits: lanes of 16, 32 and 64 bits that hold 2, 4 and 8 codes.
struct Steps {
  explicit Steps(int b) : bits(b) {
    one = 0x0001000100010001ull * low_bits(b);
    two = 0x0000000100000001ull * low_bits(2 * b);
    four = low_bits(4 * b);
  }
  std::uint64_t join(std::uint64_t x) const {
    x = (x & one) | ((x >> (8 - bits)) & (one << bits));
    x = (x & two) | ((x >> (16 - 2 * bits)) & (two << (2 * bits)));
    return (x & four) | ((x >> (32 - 4 * bits)) & (four << (4 * bits)));
  }
  std::uint64_t split(std::uint64_t x) const {
    x = (x & four) | ((x << (32 - 4 * bits)) & (four << 32));
    x = (x & two) | ((x << (16 - 2 * bits)) & (two << 16));
    return (x & one) | ((x << (8 - bits)) & (one << 8));
  }
  int bits;
  std::uint64_t one, two, four;
};

// The same for four codes of 9 … 15 bits in a word of four 16-bit lanes.
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

// The slow way, for the end of a row and for wide codes.
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
  const Steps steps(bits);
  const auto step = static_cast<std::size_t>(bits);
  const std::size_t bytes = packed_size(n, bits);
  std::size_t i = 0, at = 0;
  // A whole word is stored though only `bits` bytes of it count; what follows overwrites the rest.
  for (; at + 8 <= bytes && i + 8 <= n; i += 8, at += step) {
    std::uint64_t x;
    std::memcpy(&x, codes + i, 8);
    x = steps.join(x);
    std::memcpy(out + at, &x, 8);
  }
  pack_tail(codes + i, n - i, bits, out + at);
}

void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes) {
  if (bits == 8) {
    if (n > 0) std::memcpy(codes, packed, n);
    return;
  }
  const Steps steps(bits);
  const auto step = static_cast<std::size_t>(bits);
  const std::size_t bytes = packed_size(n, bits);
  std::size_t i = 0, at = 0;
  for (; at + 8 <= bytes && i + 8 <= n; i += 8, at += step) {
    std::uint64_t x;
    std::memcpy(&x, packed + at, 8);
    x = steps.split(x);
    std::memcpy(codes + i, &x, 8);
  }
  unpack_tail(packed + at, n - i, bits, codes + i);
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

void pack5(const std::uint8_t* codes, std::size_t n, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; i += 5) {
    int byte = 0, weight = 1;
    for (std::size_t j = i; j < i + 5 && j < n; ++j, weight *= 3)
      byte += weight * (codes[j] == 3 ? 0 : codes[j]);
    *out++ = static_cast<std::uint8_t>(byte);
  }
}

void unpack5(const std::uint8_t* packed, std::size_t n, std::uint8_t* codes) {
  for (std::size_t i = 0; i < n; i += 5) {
    int byte = *packed++;
    if (byte > 242) byte = 0;
    for (std::size_t j = i; j < i + 5 && j < n; ++j, byte /= 3)
      codes[j] = static_cast<std::uint8_t>(byte % 3);
  }
}

}  // namespace anybit::kernels
