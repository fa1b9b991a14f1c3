// Dynamic int8 GEMM against the same arithmetic in naive loops, for every SIMD target.
#include "kernels/gemm/gemm_dynamic_int8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "formats/minifloat.hpp"
#include "hwy/highway.h"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261117;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<float> integers(int from, int to, float unit = 1) {
  std::vector<float> values;
  for (int i = from; i <= to; ++i) values.push_back(static_cast<float>(i) * unit);
  return values;
}

std::vector<float> minifloats(const formats::MinifloatLayout& layout) {
  std::vector<float> values;
  for (int i = 0; i < 1 << layout.bits(); ++i)
    values.push_back(layout.decode(static_cast<formats::Code16>(i)));
  return values;
}

std::vector<std::vector<float>> tables() {
  return {integers(-8, 7),
          integers(0, 15),
          {-1, 1},
          minifloats(formats::kE2m1),
          integers(-128, 127, 1.0f / 64),
          integers(-128, 127),
          integers(0, 255),
          minifloats(formats::kE2m3)};
}

struct Sizes {
  std::int64_t k, n, block;
};
const Sizes kSizes[] = {{1, 1, 32},    {7, 17, 32},  {64, 16, 32},   {100, 33, 32},
                        {301, 50, 16}, {75, 70, 24}, {513, 20, 513}, {200, 31, 128}};

enum class Codes { random, lowest, highest };

struct Case {
  Case(std::vector<float> of, const Sizes& sizes, Codes which, bool with_zeros, std::mt19937& random)
      : table(std::move(of)), s(sizes), codes(at(s.k * s.n)) {
    const auto [low, high] = std::ranges::minmax_element(table);
    for (std::uint8_t& code : codes) {
      code = static_cast<std::uint8_t>(random() % table.size());
      if (which == Codes::lowest) code = static_cast<std::uint8_t>(low - table.begin());
      if (which == Codes::highest) code = static_cast<std::uint8_t>(high - table.begin());
    }
    matrix = {.k = s.k, .n = s.n, .block = s.block, .table = table};
    matrix.column = [this](std::int64_t c, std::uint8_t* to) {
      std::copy_n(codes.data() + c * s.k, s.k, to);
    };
    for (std::int64_t i = 0; i < s.n * matrix.blocks(); ++i) {
      factors.push_back(
          std::ldexp(1.0f + static_cast<float>(random() % 1000) / 999, static_cast<int>(random() % 20) - 10));
      zeros.push_back(static_cast<float>(random() % 16));
    }
    matrix.factors = factors.data();
    if (with_zeros) matrix.zeros = zeros.data();
  }
  std::size_t block_of(std::int64_t k, std::int64_t column) const {
    return at(column * matrix.blocks() + k / s.block);
  }
  // In units of the factor.
  double number(std::int64_t k, std::int64_t column) const {
    const double zero = matrix.zeros ? zeros[block_of(k, column)] : 0.0f;
    return table[codes[at(column * s.k + k)]] - zero;
  }
  std::vector<float> table;
  Sizes s;
  std::vector<std::uint8_t> codes;
  std::vector<float> factors, zeros;
  CodeMatrix matrix;
};

// A quantized row: numbers in runs of 32 or to the end of the block, each run with a scale.
struct Rounded {
  std::vector<double> numbers, scales;
  Rounded(const float* x, const Sizes& s) : numbers(at(s.k)), scales(at(s.k)) {
    for (std::int64_t first = 0; first < s.k;) {
      const std::int64_t end =
          std::min({first + 32 - first % s.block % 32, (first / s.block + 1) * s.block, s.k});
      float most = 0;
      for (std::int64_t i = first; i < end; ++i) most = std::max(most, std::fabs(x[i]));
      const float scale = most / 127.0f;
      for (std::int64_t i = first; i < end; ++i) {
        numbers[at(i)] = scale > 0 ? std::nearbyint(x[i] / scale) : 0.0f;
        scales[at(i)] = scale;
      }
      first = end;
    }
  }
};

std::vector<float> multiplied(const DynamicInt8Weights& packed, const Sizes& s, const std::vector<float>& a,
                              const std::vector<float>& bias, ThreadPool& pool) {
  const auto m = static_cast<std::int64_t>(a.size()) / s.k;
  std::vector<float> c(at(m * s.n));
  FloatGemmWork work{
      .m = m, .n = s.n, .k = s.k, .a = {a.data(), s.k, 1}, .b = &packed, .c = c.data(), .c_stride = s.n};
  if (!bias.empty()) work.epilogue = {.alpha = 2, .beta = 3, .addend = {bias.data(), 0, 1}};
  gemm(work, pool);
  return c;
}

void check(const Case& test, const std::vector<float>& a, ThreadPool& pool, std::mt19937& random) {
  const auto [k, n, block] = test.s;
  const auto packed = DynamicInt8Weights::make(test.matrix);
  ASSERT_TRUE(packed);
  std::vector<float> bias(at(n));
  for (float& x : bias) x = std::normal_distribution<float>()(random);
  const std::vector<float> got = multiplied(*packed, test.s, a, bias, pool);
  for (std::int64_t r = 0; r < static_cast<std::int64_t>(a.size()) / k; ++r) {
    const Rounded row(a.data() + r * k, test.s);
    for (std::int64_t c = 0; c < n; ++c) {
      double sum = 3.0 * bias[at(c)], size = std::fabs(sum);
      for (std::int64_t i = 0; i < k; ++i) {
        const double term = 2 * row.numbers[at(i)] * test.number(i, c) * row.scales[at(i)] *
                            test.factors[test.block_of(i, c)];
        sum += term;
        size += std::fabs(term);
      }
      ASSERT_NEAR(got[at(r * n + c)], sum, 2e-6 * size)
          << "row " << r << ", column " << c << " of " << k << "x" << n << " in blocks of " << block << ", "
          << test.table.size() << " codes, seed " << kSeed;
    }
  }
}

class DynamicInt8GemmOnEveryTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
  ThreadPool pool_{2};
};

TEST_P(DynamicInt8GemmOnEveryTarget, GemmEqualsThatOfTheQuantizedRows) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  for (const std::vector<float>& table : tables()) {
    const float unit = std::fabs(table[1] - table[0]);
    for (const Sizes& s : kSizes) {
      for (const bool with_zeros : {false, true}) {
        if (with_zeros && unit < 1) continue;  // zeros are in units of the codes, and unsupported then
        const Case test(table, s, Codes::random, with_zeros, random);
        for (const std::int64_t m : {1, 2, 3, 4, 8}) {
          std::vector<float> a(at(m * s.k));
          for (float& x : a) x = normal(random);
          if (m == 3) std::fill_n(a.begin() + s.k, s.k, 0.0f);  // a row of zeros
          check(test, a, pool_, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Every product is as large as possible, all with one sign: no partial sum may saturate.
TEST_P(DynamicInt8GemmOnEveryTarget, ExtremeCodesByExtremeRowsDoNotSaturate) {
  std::mt19937 random(kSeed);
  for (const std::vector<float>& table : tables()) {
    for (const Codes which : {Codes::lowest, Codes::highest}) {
      const Case test(table, {96, 17, 32}, which, false, random);
      for (const float x : {1.0f, -1.0f}) {
        check(test, std::vector<float>(96, x), pool_, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(DynamicInt8GemmOnEveryTarget, ARowDoesNotDependOnOtherRowsOrThreads) {
  std::mt19937 random(kSeed);
  const Sizes s{1024, 100, 32};
  const Case test(tables()[3], s, Codes::random, false, random);
  const auto packed = DynamicInt8Weights::make(test.matrix);
  ASSERT_TRUE(packed);
  std::vector<float> a(at(200 * s.k));
  for (float& x : a) x = std::normal_distribution<float>()(random);
  const std::vector<float> all = multiplied(*packed, s, a, {}, pool_);
  ThreadPool one(1);
  for (const std::int64_t r : {0, 1, 5, 95, 96, 150, 199}) {
    const std::vector<float> alone(a.begin() + r * s.k, a.begin() + (r + 1) * s.k);
    const std::vector<float> wanted(all.begin() + r * s.n, all.begin() + (r + 1) * s.n);
    EXPECT_EQ(multiplied(*packed, s, alone, {}, one), wanted) << "row " << r << ", seed " << kSeed;
  }
}

TEST_P(DynamicInt8GemmOnEveryTarget, TinyRowsAreSmallAndNonFiniteRowsGiveNaN) {
  std::mt19937 random(kSeed);
  const Sizes s{64, 20, 32};
  const Case test(tables()[0], s, Codes::random, false, random);
  const auto packed = DynamicInt8Weights::make(test.matrix);
  ASSERT_TRUE(packed);
  for (const float x : {kInfinity, -kInfinity, std::nanf("")}) {
    std::vector<float> a(at(2 * s.k), 1.0f);
    a[40] = x;
    const std::vector<float> got = multiplied(*packed, s, a, {}, pool_);
    for (std::int64_t i = 0; i < 2 * s.n; ++i) EXPECT_EQ(std::isnan(got[at(i)]), i < s.n) << x;
  }
  for (const float x : {0x1p-149f, 0x1.7cp-142f, 1e-37f}) {
    const std::vector<float> got = multiplied(*packed, s, std::vector<float>(at(s.k), x), {}, pool_);
    for (const float y : got) EXPECT_LE(std::fabs(y), 64 * 8 * 1024 * x) << x;
  }
}

// Used by GEMM whose rows of A are not in memory one by one.
TEST(DynamicInt8Weights, PanelsAreTheWeights) {
  std::mt19937 random(kSeed);
  for (const std::vector<float>& table : tables()) {
    const Case test(table, {75, 20, 24}, Codes::random, false, random);
    const auto packed = DynamicInt8Weights::make(test.matrix);
    ASSERT_TRUE(packed);
    std::vector<float> part(at(70 * kPanel));
    const float* got = packed->panel(1, 5, 70, part.data());
    for (std::int64_t i = 0; i < 70 * kPanel; ++i) {
      const std::int64_t column = kPanel + i % kPanel, k = 5 + i / kPanel;
      if (column >= 20) continue;
      ASSERT_EQ(got[i], static_cast<float>(test.number(k, column)) * test.factors[test.block_of(k, column)]);
    }
  }
}

TEST(DynamicInt8Weights, OtherCodesAndSmallBlocksStayInFloat) {
  std::mt19937 random(kSeed);
  const Case wide(minifloats(formats::kE3m2), {64, 16, 32}, Codes::random, false, random);
  EXPECT_FALSE(DynamicInt8Weights::make(wide.matrix));
  const Case small(tables()[0], {64, 16, 8}, Codes::random, false, random);
  EXPECT_FALSE(DynamicInt8Weights::make(small.matrix));
  for (const Case* one : {&wide, &small}) {
    const auto packed = pack_codes(one->matrix, true);
    ASSERT_TRUE(packed);
    EXPECT_TRUE(dynamic_cast<const PackedCodes*>(packed.get()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DynamicInt8GemmOnEveryTarget,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& about) { return std::string(hwy::TargetName(about.param)); });

}  // namespace
}  // namespace anybit::kernels
