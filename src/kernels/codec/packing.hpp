// Packs codes of b bits, least significant bit first: the first of two 4-bit codes is in the low nibble, and
// four 6-bit codes take three bytes, little-endian. A row starts on a byte; its last byte is padded with zero
// bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

inline std::size_t packed_size(std::size_t codes, int bits) {
  return (codes * static_cast<std::size_t>(bits) + 7) / 8;
}

// bits 1 … 8. Codes must be below 2^bits.
void pack(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out);
void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes);
// bits 1 … 16.
void pack(const std::uint16_t* codes, std::size_t n, int bits, std::uint8_t* out);
void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint16_t* codes);

// Ternary codes, five to a byte: d0 + 3·d1 + 9·d2 + 27·d3 + 81·d4, where the digits 0, 1 and 2 are the codes
// 0, 1 and 3 (0, +1 and -1). Code 2, a second zero, becomes 0. Bytes above 242 decode as zeros.
inline std::size_t fives_size(std::size_t codes) { return (codes + 4) / 5; }
template <class Code>
void pack_fives(const Code* codes, std::size_t n, std::uint8_t* out);
template <class Code>
void unpack_fives(const std::uint8_t* packed, std::size_t n, Code* codes);

}  // namespace anybit::kernels
