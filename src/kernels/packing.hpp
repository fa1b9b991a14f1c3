// Codes of b bits in b bits: least significant first, so 4-bit codes lie low nibble first and four 6-bit
// codes take three bytes, little-endian. A row starts on a byte; its last byte is filled up with zero bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

inline std::size_t packed_size(std::size_t codes, int bits) {
  return (codes * static_cast<std::size_t>(bits) + 7) / 8;
}

// bits 1 … 8; codes above 2^bits are not allowed.
void pack(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* out);
void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes);
// bits 1 … 16.
void pack(const std::uint16_t* codes, std::size_t n, int bits, std::uint8_t* out);
void unpack(const std::uint8_t* packed, std::size_t n, int bits, std::uint16_t* codes);

// Ternary codes (0, 1, 2, and 3 read as 0), five to a byte: c0 + 3·c1 + 9·c2 + 27·c3 + 81·c4. Bytes above 242
// decode to zeros.
inline std::size_t packed5_size(std::size_t codes) { return (codes + 4) / 5; }
void pack5(const std::uint8_t* codes, std::size_t n, std::uint8_t* out);
void unpack5(const std::uint8_t* packed, std::size_t n, std::uint8_t* codes);

}  // namespace anybit::kernels
