// Packing: every width at every length, against bits placed one by one.
#include "kernels/codec/packing.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace anybit::kernels {
namespace {

std::vector<std::uint8_t> pack_bit_by_bit(const std::vector<std::uint16_t>& codes, int bits) {
  std::vector<std::uint8_t> out(packed_size(codes.size(), bits), 0);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
      if ((codes[i] >> b & 1) != 0) out[at / 8] = static_cast<std::uint8_t>(out[at / 8] | 1 << (at % 8));
    }
  }
  return out;
}

std::vector<std::uint16_t> random_codes(std::size_t n, int bits) {
  std::mt19937 random(static_cast<unsigned>(n * 17 + static_cast<std::size_t>(bits)));
  std::vector<std::uint16_t> codes(n);
  for (auto& code : codes) code = static_cast<std::uint16_t>(random() & ((1u << bits) - 1));
  return codes;
}

TEST(Packing, EveryWidthAndLengthRoundTrips) {
  for (int bits = 1; bits <= 16; ++bits) {
    for (std::size_t n = 0; n <= 133; ++n) {
      const auto codes = random_codes(n, bits);
      const auto expected = pack_bit_by_bit(codes, bits);
      std::vector<std::uint8_t> packed(expected.size(),
                                       0xAA);  // exact size: the sanitizer detects an overrun by one byte
      pack(codes.data(), n, bits, packed.data());
      ASSERT_EQ(packed, expected) << bits << " bits, " << n << " codes";
      std::vector<std::uint16_t> back(n);
      unpack(packed.data(), n, bits, back.data());
      ASSERT_EQ(back, codes) << bits << " bits, " << n << " codes";
      if (bits > 8) continue;
      const std::vector<std::uint8_t> narrow(codes.begin(), codes.end());
      std::vector<std::uint8_t> packed8(expected.size(), 0xAA), back8(n);
      pack(narrow.data(), n, bits, packed8.data());
      ASSERT_EQ(packed8, expected) << bits << " bits, " << n << " codes";
      unpack(packed8.data(), n, bits, back8.data());
      ASSERT_EQ(back8, narrow) << bits << " bits, " << n << " codes";
    }
  }
}

TEST(Packing, SixBitCodesTakeThreeBytesForFour) {
  const std::uint8_t codes[] = {1, 2, 3, 63};
  std::uint8_t packed[3];
  pack(codes, 4, 6, packed);
  EXPECT_EQ(packed[0] | packed[1] << 8 | packed[2] << 16, 1 | 2 << 6 | 3 << 12 | 63 << 18);
}

TEST(Packing, FiveTernaryCodesShareAByte) {
  for (std::size_t n = 0; n <= 23; ++n) {
    std::vector<std::uint8_t> codes(n), packed(fives_size(n)), back(n);
    constexpr std::uint8_t kCodes[] = {0, 1, 3};
    for (std::size_t i = 0; i < n; ++i) codes[i] = kCodes[(i * 7 + n) % 3];
    pack_fives(codes.data(), n, packed.data());
    unpack_fives(packed.data(), n, back.data());
    EXPECT_EQ(back, codes);
  }
}

TEST(Packing, EveryByteHasFiveTernaryCodes) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto packed = static_cast<std::uint8_t>(byte);
    std::uint16_t codes[5];
    unpack_fives(&packed, 5, codes);
    std::uint8_t again = 255;
    pack_fives(codes, 5, &again);
    EXPECT_EQ(again, byte < 243 ? byte : 0);
  }
  const std::uint16_t codes[] = {1, 3, 2, 0, 3};  // +1, -1, the other zero, 0, -1
  std::uint8_t packed = 0;
  pack_fives(codes, 5, &packed);
  EXPECT_EQ(packed, 1 + 2 * 3 + 2 * 81);
}

}  // namespace
}  // namespace anybit::kernels
