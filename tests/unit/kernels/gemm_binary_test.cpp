// Binary (±1) GEMM against naive loops, with every instruction set that this CPU has.
#include "kernels/gemm/gemm_binary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "unit/kernels/paths.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

class BinaryGemmOnEveryTarget : public OnEveryPath {
 protected:
  ThreadPool pool_{2};
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Case {
  std::int64_t m, k, n;
  std::vector<float> a;
  std::vector<bool> negative;  // elements of B, by row
  std::vector<float> factors;

  Case(std::int64_t rows, std::int64_t depth, std::int64_t columns)
      : m(rows), k(depth), n(columns), a(at(m * k)), negative(at(k * n)), factors(at(n), 1.0f) {}
  void fill(std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (float& x : a) x = normal(random);
    for (std::size_t i = 0; i < negative.size(); ++i) negative[i] = random() % 2 != 0;
  }
  int sum(std::int64_t row, std::int64_t column) const {
    int result = 0;
    for (std::int64_t i = 0; i < k; ++i)
      result += (a[at(row * k + i)] < 0) == negative[at(i * n + column)] ? 1 : -1;
    return result;
  }
  PackedBinary right() const {
    return {k, n, [this](std::int64_t row, std::int64_t column) { return negative[at(row * n + column)]; }};
  }
};

TEST_P(BinaryGemmOnEveryTarget, SumsEqualThoseOfNaiveLoops) {
  std::mt19937 random(kSeed);
  const std::int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 64},    {2, 300, 33},  {5, 0, 3},     {6, 16, 65},
                                   {7, 5, 17},   {13, 64, 5},   {97, 31, 40},  {4, 248, 130}, {3, 1241, 50},
                                   {33, 9, 300}, {1, 513, 700}, {5, 60000, 3}, {4, 1240, 64}, {9, 2483, 66}};
  for (const auto& [m, k, n] : sizes) {
    Case test(m, k, n);
    test.fill(random);
    const PackedBinary right = test.right();
    std::vector<float> c(at(m * (n + 3)), -7.5f);
    multiply({.m = m,
              .a = test.a.data(),
              .a_stride = k,
              .b = &right,
              .c = c.data(),
              .c_stride = n + 3,
              .factors = test.factors.data()},
             pool_);
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t j = 0; j < n; ++j) {
        ASSERT_EQ(c[at(row * (n + 3) + j)], static_cast<float>(test.sum(row, j)))
            << m << "x" << k << "x" << n << " at " << row << ", " << j << ", seed " << kSeed;
      }
      for (std::int64_t j = n; j < n + 3; ++j)
        ASSERT_EQ(c[at(row * (n + 3) + j)], -7.5f) << "wrote past a row";
    }
  }
}

TEST_P(BinaryGemmOnEveryTarget, ThousandsOfAgreementsDoNotOverflow) {
  for (const std::int64_t k : {248, 255, 256, 1240, 1300, 60000, 70001}) {
    Case test(5, k, 2);
    for (std::int64_t i = 0; i < k; ++i) test.negative[at(i * 2)] = true;
    std::fill(test.a.begin(), test.a.end(), -1.0f);
    const PackedBinary right = test.right();
    std::vector<float> c(10);
    multiply({.m = 5,
              .a = test.a.data(),
              .a_stride = k,
              .b = &right,
              .c = c.data(),
              .c_stride = 2,
              .factors = test.factors.data()},
             pool_);
    for (std::size_t i = 0; i < c.size(); ++i) {
      ASSERT_EQ(c[i], static_cast<float>(i % 2 == 0 ? k : -k)) << "over " << k;
    }
  }
}

TEST_P(BinaryGemmOnEveryTarget, BothZerosAndNanArePositive) {
  Case test(1, 9, 1);
  test.a = {0.0f, -0.0f, std::nanf(""), -std::nanf(""), INFINITY, -INFINITY, 1e-45f, -1e-45f, -0.0f};
  const PackedBinary right = test.right();
  float c = 0;
  multiply({.m = 1,
            .a = test.a.data(),
            .a_stride = 9,
            .b = &right,
            .c = &c,
            .c_stride = 1,
            .factors = test.factors.data()},
           pool_);
  EXPECT_EQ(c, 5);
}

TEST_P(BinaryGemmOnEveryTarget, AppliesScaleAndAddend) {
  std::mt19937 random(kSeed);
  Case test(6, 40, 70);
  test.fill(random);
  for (std::size_t i = 0; i < test.factors.size(); ++i) test.factors[i] = static_cast<float>(i % 8);
  const PackedBinary right = test.right();
  std::vector<float> c(at(6 * 70)), addend(at(6 * 70));
  for (std::size_t i = 0; i < addend.size(); ++i) addend[i] = static_cast<float>(i);
  for (int way = 0; way < 4; ++way) {
    const std::int64_t down = way & 1 ? 70 : 0, across = way & 2 ? 1 : 0;
    multiply({.m = 6,
              .a = test.a.data(),
              .a_stride = 40,
              .b = &right,
              .c = c.data(),
              .c_stride = 70,
              .scale = 0.5f,
              .factors = test.factors.data(),
              .beta = 3,
              .addend = {addend.data(), down, across}},
             pool_);
    for (std::int64_t i = 0; i < 6 * 70; ++i) {
      const float more = 3 * addend[at(i / 70 * down + i % 70 * across)];
      ASSERT_EQ(c[at(i)],
                static_cast<float>(test.sum(i / 70, i % 70)) * (0.5f * test.factors[at(i % 70)]) + more);
    }
  }
}

class Bytes final : public RowSource {
 public:
  Bytes(std::vector<std::uint8_t> all, std::int64_t k) : all_(std::move(all)), k_(k) {}
  void read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
            std::int64_t stride) const override {
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(all_.data() + (row + r) * k_ + k, count, static_cast<std::uint8_t*>(to) + r * stride);
  }

 private:
  std::vector<std::uint8_t> all_;
  std::int64_t k_;
};

TEST_P(BinaryGemmOnEveryTarget, PaddingAddsNothing) {
  std::mt19937 random(kSeed);
  const std::int64_t sizes[][3] = {{1, 1, 1}, {6, 27, 65}, {7, 1250, 17}, {40, 72, 8}};
  for (const auto& [m, k, n] : sizes) {
    Case test(m, k, n);
    test.fill(random);
    std::vector<std::uint8_t> signs(test.a.size());
    binarize(test.a.data(), m * k, signs.data());
    for (std::size_t i = 0; i < signs.size(); ++i) {
      if (random() % 4 == 0) signs[i] = static_cast<std::uint8_t>(Sign::none);
    }
    const Bytes rows(signs, k);
    const PackedBinary right = test.right();
    std::vector<float> c(at(m * n));
    multiply(
        {.m = m, .rows = &rows, .b = &right, .c = c.data(), .c_stride = n, .factors = test.factors.data()},
        pool_);
    for (std::int64_t i = 0; i < m * n; ++i) {
      int sum = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        const std::uint8_t sign = signs[at(i / n * k + j)];
        if (sign < 2) sum += (sign == 1) == test.negative[at(j * n + i % n)] ? 1 : -1;
      }
      ASSERT_EQ(c[at(i)], static_cast<float>(sum))
          << m << "x" << k << "x" << n << " at " << i << ", seed " << kSeed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, BinaryGemmOnEveryTarget, ::testing::ValuesIn(every_path()), path_name);

}  // namespace
}  // namespace anybit::kernels
