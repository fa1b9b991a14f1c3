#include "kernels/gemm/rank_update.hpp"

#include <gtest/gtest.h>

#include <random>

namespace anybit::kernels {
namespace {

// Sums in order, one product after the other.
double expected(const RowPanels& a, const RowPanels& b, std::int64_t i, std::int64_t k) {
  double sum = 0.5;
  for (std::int64_t row = 0; row < a.count(); ++row) sum += *a.at(row, i) * *b.at(row, k);
  return sum;
}

RowPanels random_rows(std::int64_t count, std::int64_t length, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-1000, 1000);  // products are exact
  RowPanels rows(count, length);
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < length; ++i) *rows.at(row, i) = draw(random);
  }
  return rows;
}

TEST(RankUpdate, AddsTheUpperTriangleOfTheProduct) {
  for (const std::int64_t length : {1, 3, 4, 8, 9, 13, 32, 37}) {
    for (const bool packed : {true, false}) {
      SCOPED_TRACE(length);
      const RowPanels a = random_rows(5, length, 1), b = random_rows(5, length, 2);
      std::vector<double> sums(static_cast<std::size_t>(length * length), 0.5);
      const UpperTriangle to{sums.data(), length, packed};
      const std::int64_t middle = length / 8 * 4;
      add_products(a, b, 0, middle, to);
      add_products(a, b, middle, length, to);
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t k = i; k < length; ++k) EXPECT_EQ(to.row(i)[k - i], expected(a, b, i, k)) << i << k;
      }
      if (packed) continue;
      for (std::int64_t i = 0; i < length; ++i) {  // nothing below the diagonal
        for (std::int64_t k = 0; k < i; ++k) EXPECT_EQ(sums[static_cast<std::size_t>(i * length + k)], 0.5);
      }
    }
  }
}

}  // namespace
}  // namespace anybit::kernels
