// Softmax, reductions and normalization of rows and columns against double, at every length, on every SIMD
// target.
#include "kernels/reduce/softmax.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "hwy/targets.h"
#include "kernels/reduce/norm.hpp"
#include "kernels/reduce/reduce.hpp"

namespace anybit::kernels {
namespace {

std::vector<float> noise(std::size_t n, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

// Runs a test with each target of this machine.
template <class Body>
void on_every_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

std::vector<double> exact_softmax(const std::vector<float>& x, std::size_t first, std::size_t n,
                                  std::size_t stride, bool log) {
  double largest = x[first], sum = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max<double>(largest, x[first + i * stride]);
  std::vector<double> y;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[first + i * stride] - largest);
  for (std::size_t i = 0; i < n; ++i) {
    const double away = x[first + i * stride] - largest;
    y.push_back(log ? away - std::log(sum) : std::exp(away) / sum);
  }
  return y;
}

TEST(Softmax, RowsOfEveryLengthAddUpToOne) {
  on_every_target([] {
    for (std::size_t n = 1; n < 70; ++n) {
      for (const bool log : {false, true}) {
        const std::vector<float> x = noise(2 * n, 4, static_cast<unsigned>(n));
        std::vector<float> y(2 * n);
        softmax_rows(x.data(), 2, n, log, y.data());
        for (std::size_t row = 0; row < 2; ++row) {
          const auto wanted = exact_softmax(x, row * n, n, 1, log);
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_NEAR(y[row * n + i], wanted[i], 1e-6 * std::max(log ? 1 : 0.01, std::abs(wanted[i])))
                << n << ": " << i;
          }
        }
      }
    }
  });
}

TEST(Softmax, ColumnsEqualRowsAndMayBeDoneInPlace) {
  on_every_target([] {
    for (std::size_t columns = 1; columns < 40; ++columns) {
      const std::size_t n = 5, stride = columns + 3;
      std::vector<float> x = noise(n * stride, 4, static_cast<unsigned>(columns));
      const std::vector<float> before = x;
      softmax_columns(x.data(), n, stride, columns, false, x.data());
      for (std::size_t column = 0; column < columns; ++column) {
        const auto wanted = exact_softmax(before, column, n, stride, false);
        for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(x[i * stride + column], wanted[i], 1e-6);
      }
      for (std::size_t i = columns; i < stride; ++i) ASSERT_EQ(x[i], before[i]) << "wrote past the columns";
    }
  });
}

TEST(Reduce, SumsAndExtremesOfEveryLength) {
  on_every_target([] {
    for (std::size_t n = 1; n < 300; ++n) {
      const std::vector<float> x = noise(n, 1, static_cast<unsigned>(n));
      double sum = 0, squares = 0, magnitudes = 0;
      for (const float v : x) {
        sum += v;
        squares += static_cast<double>(v) * v;
        magnitudes += std::abs(v);
      }
      const double rough = 1e-6 * magnitudes;
      ASSERT_NEAR(row_sum(Summand::value, x.data(), n), sum, rough);
      ASSERT_NEAR(row_sum(Summand::square, x.data(), n), squares, 1e-6 * squares);
      ASSERT_NEAR(row_sum(Summand::magnitude, x.data(), n), magnitudes, rough);
      ASSERT_EQ(row_max(x.data(), n), *std::max_element(x.begin(), x.end()));
      ASSERT_EQ(row_min(x.data(), n), *std::min_element(x.begin(), x.end()));
    }
  });
}

TEST(Reduce, ColumnsAreReducedWithoutTouchingTheirNeighbours) {
  on_every_target([] {
    for (std::size_t columns = 1; columns < 40; ++columns) {
      const std::size_t rows = 131, stride = columns;
      const std::vector<float> x = noise(rows * stride, 1, static_cast<unsigned>(columns));
      std::vector<double> sums(columns);
      std::vector<float> largest(columns), smallest(columns);
      column_sums(Summand::value, x.data(), rows, stride, columns, sums.data());
      column_max(x.data(), rows, stride, columns, largest.data());
      column_min(x.data(), rows, stride, columns, smallest.data());
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = 0;
        float most = x[c], least = x[c];
        for (std::size_t r = 0; r < rows; ++r) {
          sum += x[r * stride + c];
          most = std::max(most, x[r * stride + c]);
          least = std::min(least, x[r * stride + c]);
        }
        ASSERT_NEAR(sums[c], sum, 1e-4);
        ASSERT_EQ(largest[c], most);
        ASSERT_EQ(smallest[c], least);
      }
    }
  });
}

TEST(Norm, RowsAreCenteredScaledAndShifted) {
  on_every_target([] {
    for (std::size_t n = 1; n < 40; ++n) {
      const auto x = noise(n, 1, 1), scale = noise(n, 1, 2), shift = noise(n, 1, 3);
      std::vector<float> y(n), sum = x;
      normalize_row(x.data(), n, 0.5f, 2.0f, scale.data(), shift.data(), y.data());
      add_row(shift.data(), n, sum.data());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(y[i], (x[i] - 0.5f) * 2.0f * scale[i] + shift[i]);
        ASSERT_EQ(sum[i], x[i] + shift[i]);
      }
    }
  });
}

}  // namespace
}  // namespace anybit::kernels
