// Products of signs in vectors of 64 bytes, on CPUs that count the bits of each byte (AVX-512 with BITALG,
// Ice Lake and Zen 4 on): eight signs of 64 columns in three instructions.
#pragma once

#include <cstdint>

namespace anybit::kernels {

// Eight signs of A, four times over. `plus` has a bit for each that is +1: with the bits of B, which are set
// for -1, an exclusive or gives those that agree. `there` has one for each that counts.
struct SignWords {
  std::uint32_t plus, there;
};
SignWords sign_words(unsigned negative, unsigned there) noexcept;

// Those of `count` elements of a row, eight to a step; steps lie `stride` apart. Behind the last element
// there is no +1, and B has no -1: nothing agrees. Of two steps the second has where they differ. `there` is
// not written.
void write_signs_avx512(const float* from, std::int64_t count, SignWords* to, std::int64_t stride);

// Adds to `sums`, whose rows are `stride` apart, how many signs of 1 or 4 rows agree with those of the 64
// columns of a panel: all, as write_signs_avx512() has them, or those that are there. At most 8191 steps.
void count_signs_avx512(int rows, bool all, const SignWords* words, const std::uint8_t* panel,
                        std::int64_t steps, std::int32_t* sums, std::int64_t stride);

}  // namespace anybit::kernels
