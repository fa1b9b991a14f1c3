// GEMM against naive loops, for every SIMD target of this CPU.
#include "kernels/gemm/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/reproducible.hpp"
#include "unit/kernels/paths.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261115;

class GemmOnEveryTarget : public OnEveryPath {
 protected:
  ThreadPool pool_{2};
};

struct Sizes {
  std::int64_t m, k, n;
};
std::ostream& operator<<(std::ostream& out, const Sizes& s) {
  return out << s.m << "x" << s.k << "x" << s.n << ", seed " << kSeed;
}
const Sizes kSizes[] = {{1, 1, 1},   {1, 7, 16},   {2, 300, 33},  {5, 0, 3},     {6, 16, 16},  {7, 5, 17},
                        {13, 64, 5}, {97, 31, 40}, {100, 520, 3}, {3, 1030, 50}, {50, 9, 700}, {1, 513, 130}};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// ---- float32

// Small integers: their sums are exact in any order.
std::vector<float> small_numbers(std::int64_t count, std::mt19937& random) {
  std::vector<float> all(at(count));
  for (float& x : all) x = static_cast<float>(static_cast<int>(random() % 17) - 8);
  return all;
}

struct FloatCase {
  Sizes s;
  std::vector<float> a, b, bias;
  float expected(std::int64_t r, std::int64_t c, bool ta, bool tb) const {
    float sum = 0;
    for (std::int64_t i = 0; i < s.k; ++i) {
      sum += a[at(ta ? i * s.m + r : r * s.k + i)] * b[at(tb ? c * s.k + i : i * s.n + c)];
    }
    return std::min(std::max(2 * sum + 3 * bias[at(c)], -50.0f), 1000.0f);
  }
};

void check_floats(const FloatCase& test, bool ta, bool tb, bool packed, ThreadPool& pool) {
  const auto [m, k, n] = test.s;
  const MatrixView<float> a =
      ta ? MatrixView<float>{test.a.data(), 1, m} : MatrixView<float>{test.a.data(), k, 1};
  const MatrixView<float> b =
      tb ? MatrixView<float>{test.b.data(), 1, k} : MatrixView<float>{test.b.data(), n, 1};
  const PackedFloats ahead(b, k, n);
  const PlainFloats plain(b, n);
  std::vector<float> c(at(m * (n + 3)), -7.0f);
  FloatGemmWork work{.m = m, .n = n, .k = k, .a = a, .c = c.data(), .c_stride = n + 3};
  work.b = packed ? static_cast<const FloatRhs*>(&ahead) : &plain;
  work.epilogue = {.alpha = 2, .beta = 3, .addend = {test.bias.data(), 0, 1}, .low = -50.0f, .high = 1000.0f};
  gemm(work, pool);
  for (std::int64_t r = 0; r < m; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      ASSERT_EQ(c[at(r * (n + 3) + j)], test.expected(r, j, ta, tb)) << test.s << " at " << r << ", " << j;
    }
    for (std::int64_t j = n; j < n + 3; ++j) ASSERT_EQ(c[at(r * (n + 3) + j)], -7.0f) << "wrote past a row";
  }
}

TEST_P(GemmOnEveryTarget, FloatGemmEqualsNaiveLoops) {
  std::mt19937 random(kSeed);
  for (const Sizes& s : kSizes) {
    const FloatCase test{s, small_numbers(s.m * s.k, random), small_numbers(s.k * s.n, random),
                         small_numbers(s.n, random)};
    for (int way = 0; way < 8; ++way) {
      check_floats(test, way & 1, way & 2, way & 4, pool_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmOnEveryTarget, ReproducibleFloatGemmIsUnfusedAndInOrder) {
  const ReproducibleScope scope(true);
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  const auto numbers = [&](std::int64_t count) {
    std::vector<float> all(at(count));
    for (float& x : all) x = normal(random);
    return all;
  };
  for (const Sizes& s : kSizes) {
    const FloatCase test{s, numbers(s.m * s.k), numbers(s.k * s.n), numbers(s.n)};
    for (int way = 0; way < 8; ++way) {
      check_floats(test, way & 1, way & 2, way & 4, pool_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GemmOnEveryTarget, FloatRowsDoNotDependOnOtherRowsOrThreads) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  const std::int64_t m = 130, k = 700, n = 150;
  std::vector<float> a(at(m * k)), b(at(k * n)), all(at(m * n)), one(at(n));
  for (float& x : a) x = normal(random);
  for (float& x : b) x = normal(random);
  const PackedFloats right({b.data(), n, 1}, k, n);
  FloatGemmWork work{
      .m = m, .n = n, .k = k, .a = {a.data(), k, 1}, .b = &right, .c = all.data(), .c_stride = n};
  gemm(work, pool_);
  ThreadPool alone(1);
  for (std::int64_t r = 0; r < m; ++r) {
    work.m = 1;
    work.a.data = a.data() + r * k;
    work.c = one.data();
    gemm(work, alone);
    for (std::int64_t j = 0; j < n; ++j) ASSERT_EQ(one[at(j)], all[at(r * n + j)]) << "row " << r;
  }
}

TEST_P(GemmOnEveryTarget, ClampKeepsNan) {
  const float a[] = {std::nanf(""), 1}, b[] = {1, 1};
  float c[2];
  const PlainFloats right({b, 1, 1}, 1);
  gemm({.m = 2,
        .n = 1,
        .k = 1,
        .a = {a, 1, 1},
        .b = &right,
        .c = c,
        .c_stride = 1,
        .epilogue = {.low = 0, .high = 6}},
       pool_);
  EXPECT_TRUE(std::isnan(c[0]));
  EXPECT_EQ(c[1], 1);
}

// ---- Integers

struct Numbers {
  IntegerType type = IntegerType::int8;
  std::vector<std::int32_t> values;
  std::vector<std::byte> memory;

  Numbers(IntegerType of, std::int64_t count)
      : type(of), values(at(count)), memory(at(count * bytes_of(of))) {}
  std::int32_t low() const {
    return type == IntegerType::int8 ? -128 : type == IntegerType::int16 ? -32768 : 0;
  }
  std::int32_t high() const {
    return type == IntegerType::int8    ? 127
           : type == IntegerType::uint8 ? 255
           : type == IntegerType::int16 ? 32767
                                        : 65535;
  }
  void set(std::int64_t i, std::int32_t value) {
    values[at(i)] = value;
    if (bytes_of(type) == 1) {
      memory[at(i)] = static_cast<std::byte>(value);
    } else {
      reinterpret_cast<std::uint16_t*>(memory.data())[i] = static_cast<std::uint16_t>(value);
    }
  }
  std::int32_t any(std::mt19937& random) const {
    return low() + static_cast<std::int32_t>(random() % static_cast<unsigned>(high() - low() + 1));
  }
  void fill(std::mt19937& random) {
    for (std::size_t i = 0; i < values.size(); ++i) set(static_cast<std::int64_t>(i), any(random));
  }
};

constexpr IntegerType kIntegerTypes[] = {IntegerType::int8, IntegerType::uint8, IntegerType::int16,
                                         IntegerType::uint16};

struct IntegerCase {
  Sizes s;
  Numbers a, b;
  std::vector<std::int32_t> a_zeros, b_zeros, bias;
  IntegerCase(Sizes sizes, IntegerType of_a, IntegerType of_b)
      : s(sizes), a(of_a, s.m * s.k), b(of_b, s.k * s.n), a_zeros(at(s.m)), b_zeros(at(s.n)), bias(at(s.n)) {}
  void fill(std::mt19937& random) {
    a.fill(random);
    b.fill(random);
    for (auto& zero : a_zeros) zero = bytes_of(a.type) == 1 ? a.any(random) : 100;
    for (auto& zero : b_zeros) zero = b.any(random);
    for (auto& one : bias) one = static_cast<std::int32_t>(random() % 20001) - 10000;
  }
  std::int64_t sum(std::int64_t r, std::int64_t c) const {
    std::int64_t result = bias[at(c)];
    for (std::int64_t i = 0; i < s.k; ++i) {
      result += std::int64_t{a.values[at(r * s.k + i)] - a_zeros[at(r)]} *
                (b.values[at(i * s.n + c)] - b_zeros[at(c)]);
    }
    return result;
  }
  IntegerView left() const { return {a.type, a.memory.data(), s.k, 1}; }
  IntegerView right() const { return {b.type, b.memory.data(), s.n, 1}; }
};

// The same rows through a RowSource.
class Copier final : public RowSource {
 public:
  explicit Copier(const IntegerCase& test) : test_(test) {}
  void read(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, void* to,
            std::int64_t stride) const override {
    const std::int64_t width = bytes_of(test_.a.type);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::byte* from = test_.a.memory.data() + ((row + r) * test_.s.k + k) * width;
      std::copy_n(from, count * width, static_cast<std::byte*>(to) + r * stride * width);
    }
  }

 private:
  const IntegerCase& test_;
};

template <class T>
std::vector<T> multiplied(const IntegerCase& test, bool packed, bool source, const IntegerEpilogue& epilogue,
                          ThreadPool& pool) {
  const auto [m, k, n] = test.s;
  std::vector<T> c(at(m * n));
  const Spread<std::int32_t> zeros{test.b_zeros.data(), 0, 1};
  const PackedIntegers ahead(test.right(), k, n, zeros);
  const PlainIntegers plain(test.right(), k, n, zeros);
  const Copier copier(test);
  IntegerGemmWork work{
      .m = m, .n = n, .k = k, .a = test.left(), .c = c.data(), .c_stride = n, .epilogue = epilogue};
  work.rows = source ? &copier : nullptr;
  work.a_zero = {test.a_zeros.data(), bytes_of(test.a.type) == 1 ? 1 : 0, 0};
  work.b = packed ? static_cast<const IntegerRhs*>(&ahead) : &plain;
  work.epilogue.bias = {test.bias.data(), 0, 1};
  gemm(work, pool);
  return c;
}

TEST_P(GemmOnEveryTarget, IntegerGemmIsExactForEveryTypeAndZeroPoint) {
  std::mt19937 random(kSeed);
  for (const Sizes& s : kSizes) {
    for (int way = 0; way < 16; ++way) {
      IntegerCase test(s, kIntegerTypes[way % 4], kIntegerTypes[way / 4]);
      test.fill(random);
      for (int how = 0; how < 4; ++how) {
        const auto c = multiplied<std::int32_t>(test, how & 1, how & 2, {}, pool_);
        for (std::int64_t i = 0; i < s.m * s.n; ++i) {
          const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(test.sum(i / s.n, i % s.n)));
          ASSERT_EQ(c[at(i)], sum) << s << " types " << way << " how " << how << " at " << i;
        }
      }
    }
  }
}

template <class T>
void check_quantized(const IntegerCase& test, IntegerResult type, float scale, ThreadPool& pool) {
  const std::int32_t zero = std::is_signed_v<T> ? -3 : 100, low = std::numeric_limits<T>::min() + 1,
                     high = std::numeric_limits<T>::max();
  for (int how = 0; how < 4; ++how) {
    const auto c = multiplied<T>(
        test, how & 1, how & 2,
        {.type = type, .scale = {&scale, 0, 0}, .zero_point = zero, .low = low, .high = high}, pool);
    for (std::int64_t i = 0; i < test.s.m * test.s.n; ++i) {
      const float work = static_cast<float>(test.sum(i / test.s.n, i % test.s.n)) * scale;
      const double q = std::nearbyint(static_cast<double>(work)) + zero;
      const auto code = static_cast<T>(std::min<double>(std::max<double>(q, low), high));
      ASSERT_EQ(c[at(i)], code) << test.s << " how " << how << " at " << i;
    }
  }
}

TEST_P(GemmOnEveryTarget, RequantizationIsOneConversionOneMultiplicationOneRounding) {
  std::mt19937 random(kSeed);
  for (const Sizes& s : {kSizes[1], kSizes[5], kSizes[7], kSizes[9]}) {
    for (int way = 0; way < 16; ++way) {
      IntegerCase test(s, kIntegerTypes[way % 4], kIntegerTypes[way / 4]);
      test.fill(random);
      const float wide = way % 4 >= 2 || way / 4 >= 2 ? 0x1p-20f : 0x1p-9f;
      check_quantized<std::int8_t>(test, IntegerResult::int8, wide, pool_);
      check_quantized<std::uint8_t>(test, IntegerResult::uint8, wide, pool_);
      check_quantized<std::int16_t>(test, IntegerResult::int16, wide * 100, pool_);
      check_quantized<std::uint16_t>(test, IntegerResult::uint16, wide * 100, pool_);
      if (HasFatalFailure()) return;
    }
  }
}

// The largest possible products, as many as fit 32 bits and more.
TEST_P(GemmOnEveryTarget, ExtremeValuesNeitherSaturateNorOverflow) {
  const struct {
    IntegerType a, b;
    std::int32_t x, y, za, zb;
  } cases[] = {{IntegerType::uint8, IntegerType::int8, 255, 127, 0, 0},
               {IntegerType::int8, IntegerType::int8, -128, -128, 0, 0},
               {IntegerType::uint8, IntegerType::int8, 255, -128, 0, 0},
               {IntegerType::uint8, IntegerType::uint8, 255, 255, 0, 0},
               {IntegerType::int8, IntegerType::int8, -128, -128, 127, 127},
               {IntegerType::uint8, IntegerType::uint8, 0, 0, 255, 255},
               {IntegerType::int16, IntegerType::int8, -32768, 127, 0, 0},
               {IntegerType::int16, IntegerType::int8, 32767, -127, -1, 0},
               {IntegerType::int16, IntegerType::int8, -32768, -128, 0, 0},
               {IntegerType::int16, IntegerType::int16, -32768, -32768, 0, 0},
               {IntegerType::uint16, IntegerType::int8, 65535, -128, 0, 127},
               {IntegerType::uint16, IntegerType::uint16, 65535, 65535, 0, 0}};
  for (const auto& one : cases) {
    for (const std::int64_t k : {256, 516, 517, 33025, 60000}) {
      for (const auto& [m, packed] : {std::pair{1, true}, {7, false}, {7, true}}) {
        IntegerCase test({m, k, 3}, one.a, one.b);
        for (std::int64_t i = 0; i < m * k; ++i) test.a.set(i, one.x);
        for (std::int64_t i = 0; i < k * 3; ++i) test.b.set(i, one.y);
        std::fill(test.a_zeros.begin(), test.a_zeros.end(), one.za);
        std::fill(test.b_zeros.begin(), test.b_zeros.end(), one.zb);
        const float scale = 1;
        const auto real = multiplied<float>(test, packed, false,
                                            {.type = IntegerResult::float32, .scale = {&scale, 0, 0}}, pool_);
        const auto integer = multiplied<std::int32_t>(test, packed, false, {}, pool_);
        const std::int64_t sum = k * std::int64_t{one.x - one.za} * (one.y - one.zb);
        for (std::size_t i = 0; i < real.size(); ++i) {
          ASSERT_EQ(real[i], static_cast<float>(sum)) << one.x << "·" << one.y << " over " << k;
          ASSERT_EQ(integer[i], static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, GemmOnEveryTarget, ::testing::ValuesIn(every_path()), path_name);

}  // namespace
}  // namespace anybit::kernels
