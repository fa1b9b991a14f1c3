// GEMM by packed codes against GEMM by the decoded floats, with every instruction set.
#include "kernels/gemm/gemm_packed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "formats/minifloat.hpp"
#include "hwy/highway.h"
#include "kernels/gemm/packed_weights.hpp"
#include "unit/kernels/paths.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Table {
  CodeKind kind;
  std::vector<float> values;
};

std::vector<float> minifloats(const formats::MinifloatLayout& layout) {
  std::vector<float> values;
  for (int i = 0; i < 1 << layout.bits(); ++i)
    values.push_back(layout.decode(static_cast<formats::Code16>(i)));
  return values;
}

std::vector<float> integers(int from, int to, float unit) {
  std::vector<float> values;
  for (int i = from; i <= to; ++i) values.push_back(static_cast<float>(i) * unit);
  return values;
}

std::vector<Table> tables() {
  return {{CodeKind::nibbles, minifloats(formats::kE2m1)},
          {CodeKind::nibbles, integers(-8, 7, 1)},
          {CodeKind::nibbles, {-1, 1}},
          {CodeKind::int8, integers(-128, 127, 1.0f / 64)},
          {CodeKind::uint8, integers(0, 255, 1)},
          {CodeKind::e4m3, minifloats(formats::kE4m3)},
          {CodeKind::e5m2, minifloats(formats::kE5m2)},
          {CodeKind::int8, minifloats(formats::kE2m3)},
          {CodeKind::e4m3, minifloats(formats::kE3m2)}};
}

struct Sizes {
  std::int64_t k, n, block;
};
const Sizes kSizes[] = {{1, 1, 32},    {7, 17, 32},  {64, 16, 32},  {100, 33, 32},
                        {300, 50, 16}, {75, 70, 12}, {513, 20, 513}};

class PackedCodesOnEveryPath : public OnEveryPath {
 protected:
  ThreadPool pool_{2};
};

// A matrix of random codes; every finite code occurs if it is large enough.
struct Case {
  Case(const Table& of, const Sizes& sizes, bool with_zeros, bool powers, std::mt19937& random)
      : table(of), s(sizes), codes(at(s.k * s.n)) {
    for (std::uint8_t& code : codes) {
      do code = static_cast<std::uint8_t>(random() % table.values.size());
      while (!std::isfinite(table.values[code]));
    }
    matrix = {.k = s.k, .n = s.n, .block = s.block, .table = table.values};
    matrix.column = [this](std::int64_t c, std::uint8_t* to) {
      std::copy_n(codes.data() + c * s.k, s.k, to);
    };
    for (std::int64_t i = 0; i < s.n * matrix.blocks(); ++i) {
      factors.push_back(std::ldexp(powers ? 1.0f : 1.0f + static_cast<float>(random() % 1000) / 999,
                                   static_cast<int>(random() % 20) - 10));
      zeros.push_back(static_cast<float>(random() % 16) + (random() % 2 == 0 ? 0.0f : 0.3f));
    }
    matrix.factors = factors.data();
    if (with_zeros) matrix.zeros = zeros.data();
    for (std::int64_t c = 0; c < s.n; ++c) {
      for (std::int64_t k = 0; k < s.k; ++k) {
        const std::size_t i = at(c * matrix.blocks() + k / s.block);
        weights.push_back((table.values[codes[at(c * s.k + k)]] - (with_zeros ? zeros[i] : 0.0f)) *
                          factors[i]);
      }
    }
  }
  const Table& table;
  Sizes s;
  std::vector<std::uint8_t> codes;
  std::vector<float> factors, zeros, weights;  // weights by column
  CodeMatrix matrix;
};

void check(const Case& test, const FloatRhs& packed, ThreadPool& pool, std::mt19937& random) {
  const auto [k, n, block] = test.s;
  const PackedFloats floats({test.weights.data(), 1, k}, k, n);
  std::normal_distribution<float> normal;
  for (std::int64_t m = 1; m <= 20; m += m < 5 ? 1 : 5) {
    std::vector<float> a(at(m * k)), bias(at(n)), got(at(m * n)), wanted(at(m * n));
    for (float& x : a) x = normal(random);
    for (float& x : bias) x = normal(random);
    FloatGemmWork work{
        .m = m, .n = n, .k = k, .a = {a.data(), k, 1}, .b = &packed, .c = got.data(), .c_stride = n};
    work.epilogue = {.alpha = 2, .beta = 3, .addend = {bias.data(), 0, 1}};
    gemm(work, pool);
    work.b = &floats;
    work.c = wanted.data();
    gemm(work, pool);
    ASSERT_EQ(got, wanted) << m << "x" << k << "x" << n << " in blocks of " << block << ", seed " << kSeed;
    for (std::int64_t i = 0; i < m * n; i += 7) {
      double sum = 0, size = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        const double term = static_cast<double>(a[at(i / n * k + j)]) * test.weights[at(i % n * k + j)];
        sum += term;
        size += std::fabs(term);
      }
      const double bias_part = 3.0 * bias[at(i % n)];
      ASSERT_NEAR(got[at(i)], 2 * sum + bias_part, 1e-5 * (2 * size + std::fabs(bias_part)) + 1e-6);
    }
  }
}

TEST_P(PackedCodesOnEveryPath, GemmEqualsThatOfTheDecodedWeights) {
  std::mt19937 random(kSeed);
  for (const Table& table : tables()) {
    for (const Sizes& s : kSizes) {
      for (const int way : {0, 1, 2}) {
        const Case test(table, s, way == 1, way == 2, random);
        const auto packed = PackedCodes::make(test.matrix);
        ASSERT_TRUE(packed);
        ASSERT_EQ(packed->kind(), table.kind);
        check(test, *packed, pool_, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Sums in units of a power of two would overflow or underflow float32 here.
TEST_P(PackedCodesOnEveryPath, HugeTinyAndNonFiniteValuesEqualFloatGemm) {
  std::mt19937 random(kSeed);
  const Table table = tables()[0];
  const Case test(table, {64, 16, 32}, false, true, random);
  const auto packed = PackedCodes::make(test.matrix);
  const PackedFloats floats({test.weights.data(), 1, 64}, 64, 16);
  for (const float size : {1e34f, 1e-40f, std::numeric_limits<float>::infinity(), std::nanf(""), 0.0f}) {
    std::vector<float> a(64, size), got(16), wanted(16);
    FloatGemmWork work{
        .m = 1, .n = 16, .k = 64, .a = {a.data(), 64, 1}, .b = packed.get(), .c = got.data(), .c_stride = 16};
    gemm(work, pool_);
    work.b = &floats;
    work.c = wanted.data();
    gemm(work, pool_);
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_TRUE(got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i])))
          << size << ": " << got[i];
  }
}

TEST_P(PackedCodesOnEveryPath, PanelsMayStartAnywhere) {
  std::mt19937 random(kSeed);
  for (const Table& table : tables()) {
    const Case test(table, {75, 20, 12}, false, false, random);
    const auto packed = PackedCodes::make(test.matrix);
    ASSERT_TRUE(packed);
    std::vector<float> part(at(75 * kPanel));
    for (std::int64_t k = 0; k < 75; k += 5) {
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{20}, 75 - k}) {
        if (k + count > 75) continue;
        const float* got = packed->panel(1, k, count, part.data());
        for (std::int64_t i = 0; i < count * kPanel; ++i) {
          const std::int64_t column = kPanel + i % kPanel;
          if (column < 20) {
            ASSERT_EQ(got[i], test.weights[at(column * 75 + k + i / kPanel)]);
          }
        }
      }
    }
  }
}

TEST(PackedCodes, NonFiniteWeightsAreNotPacked) {
  const float nan = std::nanf("");
  const std::vector<float> table{0, 1, nan, 3};
  const float factors[] = {1}, infinite[] = {3e38f};
  CodeMatrix matrix{.k = 2, .n = 1, .block = 8, .table = table};
  matrix.factors = factors;
  matrix.column = [](std::int64_t, std::uint8_t* to) { to[0] = 2, to[1] = 0; };
  EXPECT_FALSE(PackedCodes::make(matrix));
  matrix.column = [](std::int64_t, std::uint8_t* to) { to[0] = 1, to[1] = 0; };
  EXPECT_TRUE(PackedCodes::make(matrix));
  matrix.factors = infinite;
  EXPECT_FALSE(PackedCodes::make(matrix));
}

constexpr std::int64_t kRows = 100, kColumns = 40;

// The codec of a weight quantized along the reduction axis.
Result<TensorCodec> codec_of(std::string_view format, formats::Values parameters, bool transposed) {
  TensorOptions options;
  options.parameters = std::move(parameters);
  const bool blocks = formats::find(format).value()->granularity == formats::Granularity::block;
  if (blocks) options.grouping.axis = transposed ? 1 : 0;
  return TensorCodec::make(
      format, transposed ? formats::Dims{kColumns, kRows} : formats::Dims{kRows, kColumns}, options);
}

// Checks that GEMM by packed weights equals GEMM by decoded ones.
void check_format(const TensorCodec& codec, bool transposed) {
  ThreadPool pool(2);
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  std::vector<float> values(at(kRows * kColumns)), decoded(values.size()), a(at(2 * kRows));
  for (float& x : values) x = normal(random);
  for (float& x : a) x = normal(random);
  std::vector<std::uint8_t> codes(at(codec.packed_bytes()));
  const auto parameters = codec.choose_and_pack(values, codes.data(), pool);
  codec.decode_packed(codes.data(), parameters, decoded.data(), pool);
  const auto packed = packed_weights({codec, codes.data(), parameters, transposed}, pool);
  ASSERT_TRUE(packed);
  std::vector<float> got(at(2 * kColumns)), wanted(got.size());
  const PlainFloats plain({decoded.data(), transposed ? 1 : kColumns, transposed ? kRows : 1}, kColumns);
  FloatGemmWork work{.m = 2,
                     .n = kColumns,
                     .k = kRows,
                     .a = {a.data(), kRows, 1},
                     .b = packed.get(),
                     .c = got.data(),
                     .c_stride = kColumns};
  gemm(work, pool);
  work.b = &plain;
  work.c = wanted.data();
  gemm(work, pool);
  EXPECT_EQ(got, wanted);
}

struct Format {
  std::string_view name;
  bool packs;
};

TEST(PackedWeights, EveryPackableFormatEqualsGemmOfItsDecodedWeights) {
  for (const Format& format : {Format{"mxfp4_e2m1", true},
                               {"mxint8", true},
                               {"mxfp8_e4m3", true},
                               {"mxfp8_e5m2", true},
                               {"mxfp6_e2m3", true},
                               {"mxfp6_e3m2", true},
                               {"nvfp4", true},
                               {"bfp16", true},
                               {"block_fp", true},
                               {"int4", true},
                               {"uint4", true},
                               {"int8", true},
                               {"ternary", true},
                               {"binary", true},
                               {"fp8_e4m3", true},
                               {"mx9", false},
                               {"int16", false},
                               {"log", false}}) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(::testing::Message() << format.name << (transposed ? ", transposed" : ""));
      const auto codec = codec_of(format.name, {}, transposed);
      ASSERT_TRUE(codec.ok());
      ASSERT_EQ(packs(*codec, transposed), format.packs);
      if (format.packs) check_format(*codec, transposed);
    }
  }
}

TEST(PackedWeights, TernaryWeightsFiveToAByteEqualTheDecodedOnes) {
  for (const bool transposed : {false, true}) {
    const auto codec = codec_of("ternary", {{"packing", std::string("fives")}}, transposed);
    ASSERT_TRUE(codec.ok() && packs(*codec, transposed));
    check_format(*codec, transposed);
  }
}

TEST(PackedWeights, FormatsOfEveryWidthEqualTheDecodedOnes) {
  int checked = 0;
  for (const std::string_view name :
       {"block_minifloat", "block_log", "block_fp", "log", "fixed", "minifloat_ieee", "minifloat_denorm"}) {
    for (int width = 2; width <= 8; ++width) {
      for (int exponent = 1; exponent < width; ++exponent) {
        SCOPED_TRACE(::testing::Message() << name << " width=" << width << " exponent_width=" << exponent);
        formats::Values parameters{{"width", std::int64_t{width}}};
        const bool floats = name.find("minifloat") != std::string_view::npos;
        if (floats) parameters.emplace("exponent_width", std::int64_t{exponent});
        const auto codec = codec_of(name, parameters, false);
        if (codec.ok() && packs(*codec, false)) {
          check_format(*codec, false);
          ++checked;
        }
        if (!floats) break;
      }
    }
  }
  EXPECT_GT(checked, 20);
}

INSTANTIATE_TEST_SUITE_P(All, PackedCodesOnEveryPath, ::testing::ValuesIn(every_path()), path_name);

}  // namespace
}  // namespace anybit::kernels
