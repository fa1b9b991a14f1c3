// Binary GEMM for AVX-512 with BITALG, which counts the set bits of each byte (Ice Lake, Zen 4 and later):
// eight ±1 values of 64 columns in three instructions.
#pragma once

#include <cstdint>

namespace anybit::kernels {

// Eight ±1 values of A, repeated in all four bytes. A bit of `plus` is set for +1, a bit of B for -1, so that
// their exclusive or is set where the values agree. A bit of `there` is set for a value that counts (padding
// does not).
struct SignWords {
  std::uint32_t plus, there;
};
SignWords sign_words(unsigned negative, unsigned there) noexcept;

// Binarizes `count` elements of a row, eight per step; the words of consecutive steps are `stride` apart.
// Elements past the end are neither +1 here nor -1 in B, so they never agree. Steps go in pairs: the second
// word of a pair holds its exclusive or with the first. `there` is not written.
void write_binary_avx512(const float* from, std::int64_t count, SignWords* to, std::int64_t stride);

// Counts the ±1 values in which 1 or 4 rows agree with the 64 columns of a panel, and adds the counts to
// `sums` (rows `stride` apart). `all`: every value counts, and the words are those of write_binary_avx512();
// otherwise only those set in `there` count. At most 8191 steps.
void count_binary_avx512(int rows, bool all, const SignWords* words, const std::uint8_t* panel,
                         std::int64_t steps, std::int32_t* sums, std::int64_t stride);

}  // namespace anybit::kernels
