// Lookup tables and transposes against naive loops.
#include "kernels/elementwise/look_up.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "hwy/highway.h"
#include "kernels/move/layout_transform.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

TEST(LookUp, GivesEveryCodeItsEntryOnEveryTarget) {
  std::mt19937 random(kSeed);
  std::vector<std::uint8_t> table(256), quantized(1000);
  for (auto& one : table) one = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < quantized.size(); ++i)
    quantized[i] = static_cast<std::uint8_t>(i < 256 ? i : random());
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{64}, std::size_t{999}}) {
      std::vector<std::uint8_t> out = quantized;  // in place
      look_up(out.data(), table.data(), out.data(), n);
      for (std::size_t i = 0; i < quantized.size(); ++i) {
        ASSERT_EQ(out[i], i < n ? table[quantized[i]] : quantized[i])
            << hwy::TargetName(target) << ", seed " << kSeed;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

template <class T>
void check_turned(std::int64_t rows, std::int64_t columns) {
  std::mt19937 random(kSeed);
  const std::int64_t from_stride = columns + 2, to_stride = rows + 3;
  std::vector<T> from(static_cast<std::size_t>(rows * from_stride)),
      to(static_cast<std::size_t>(columns * to_stride), T{7});
  for (T& one : from) one = static_cast<T>(random());
  std::vector<T> expected = to;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      expected[static_cast<std::size_t>(c * to_stride + r)] =
          from[static_cast<std::size_t>(r * from_stride + c)];
    }
  }
  transpose_tiles(rows, columns, from.data(), from_stride, to.data(), to_stride);
  EXPECT_EQ(to, expected) << rows << " x " << columns << ", seed " << kSeed;
}

TEST(TurnOver, TransposesWithoutTouchingNeighbours) {
  for (const std::int64_t rows : {1, 3, 8, 15, 16, 24, 35, 80}) {
    for (const std::int64_t columns : {1, 5, 8, 16, 33, 72}) {
      check_turned<std::uint8_t>(rows, columns);
      check_turned<std::uint32_t>(rows, columns);
    }
  }
}

}  // namespace
}  // namespace anybit::kernels
