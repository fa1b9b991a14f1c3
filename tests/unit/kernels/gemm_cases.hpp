// GEMM cases for the kernels of the list.
#pragma once

#include "kernels/gemm/gemm_binary.hpp"
#include "kernels/gemm/gemm_dynamic_int8.hpp"
#include "unit/kernels/kernel_case.hpp"

namespace anybit::kernels::cases {

struct Sizes {
  std::int64_t m, k, n;
  std::string text(bool packed = true) const {
    return std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) +
           (packed ? "" : ", not packed");
  }
  double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
  }
};

inline std::vector<Sizes> gemm_sizes(bool large) {
  if (large) return {{1, 2048, 1024}, {3, 1024, 1024}, {128, 512, 512}};
  return {{1, 1, 1},   {1, 513, 130}, {2, 300, 33}, {3, 70, 50},
          {4, 65, 31}, {7, 5, 17},    {97, 31, 40}, {100, 520, 3}};
}

// ---- float GEMM: integers, whose sums are exact in any order

struct FloatState {
  FloatState(Sizes of, bool is_packed, std::mt19937& random)
      : s(of),
        a(numbers<float>(s.m * s.k, -8, 8, random)),
        b(numbers<float>(s.k * s.n, -8, 8, random)),
        y(at(s.m * s.n)),
        expected(y.size()),
        packed({b.data(), s.n, 1}, s.k, s.n),
        plain({b.data(), s.n, 1}, s.n),
        right(is_packed ? static_cast<const FloatRhs*>(&packed) : &plain) {}
  void run(ThreadPool& pool) {
    gemm({.m = s.m, .n = s.n, .k = s.k, .a = {a.data(), s.k, 1}, .b = right, .c = y.data(), .c_stride = s.n},
         pool);
  }
  void reference() {
    for (std::int64_t r = 0; r < s.m; ++r) {
      for (std::int64_t c = 0; c < s.n; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k) sum += a[at(r * s.k + k)] * b[at(k * s.n + c)];
        expected[at(r * s.n + c)] = sum;
      }
    }
  }
  Sizes s;
  std::vector<float> a, b, y, expected;
  PackedFloats packed;
  PlainFloats plain;
  const FloatRhs* right;
};

inline KernelCases of(const FloatGemm&, bool large, std::mt19937& random) {
  KernelCases all;
  for (const Sizes& s : gemm_sizes(large)) {
    for (const bool packed : {true, false})
      all.push_back(made(std::make_shared<FloatState>(s, packed, random), s.text(packed), s.operations()));
  }
  return all;
}

// ---- integer GEMM, requantized

template <class A, class B>
struct IntegerState {
  static constexpr IntegerType type_of(std::size_t bytes, bool is_signed) {
    return bytes == 1 ? (is_signed ? IntegerType::int8 : IntegerType::uint8)
                      : (is_signed ? IntegerType::int16 : IntegerType::uint16);
  }
  static constexpr IntegerType kA = type_of(sizeof(A), std::is_signed_v<A>),
                               kB = type_of(sizeof(B), std::is_signed_v<B>);
  using Y = std::int16_t;

  IntegerState(Sizes of, bool is_packed, std::mt19937& random)
      : s(of),
        zero(sizeof(A) == 1 ? (std::is_signed_v<A> ? -7 : 131) : 0),
        a(numbers<A>(s.m * s.k, std::is_signed_v<A> ? -128 : 0, std::is_signed_v<A> ? 127 : 255, random)),
        b(numbers<B>(s.k * s.n, -128, 127, random)),
        bias(numbers<std::int32_t>(s.n, -10000, 10000, random)),
        y(at(s.m * s.n)),
        expected(y.size()),
        packed({kB, b.data(), s.n, 1}, s.k, s.n, {}),
        plain({kB, b.data(), s.n, 1}, s.k, s.n, {}),
        right(is_packed ? static_cast<const IntegerRhs*>(&packed) : &plain) {}
  void run(ThreadPool& pool) {
    IntegerGemmWork work{.m = s.m,
                         .n = s.n,
                         .k = s.k,
                         .a = {kA, a.data(), s.k, 1},
                         .b = right,
                         .c = y.data(),
                         .c_stride = s.n};
    work.a_zero = {&zero, 0, 0};
    work.epilogue = {.type = IntegerResult::int16,
                     .bias = {bias.data(), 0, 1},
                     .scale = {&scale, 0, 0},
                     .zero_point = 3,
                     .low = -32768,
                     .high = 32767};
    gemm(work, pool);
  }
  void reference() {
    for (std::int64_t r = 0; r < s.m; ++r) {
      for (std::int64_t c = 0; c < s.n; ++c) {
        std::int64_t sum = bias[at(c)];
        for (std::int64_t k = 0; k < s.k; ++k)
          sum += std::int64_t{a[at(r * s.k + k)] - zero} * b[at(k * s.n + c)];
        const float code = std::nearbyint(static_cast<float>(sum) * scale) + 3.0F;
        expected[at(r * s.n + c)] = static_cast<Y>(std::min(std::max(code, -32768.0F), 32767.0F));
      }
    }
  }
  Sizes s;
  std::int32_t zero;
  float scale = 0x1p-7F;
  std::vector<A> a;
  std::vector<B> b;
  std::vector<std::int32_t> bias;
  std::vector<Y> y, expected;
  PackedIntegers packed;
  PlainIntegers plain;
  const IntegerRhs* right;
};

inline KernelCases of(const IntegerGemm&, bool large, std::mt19937& random) {
  KernelCases all;
  for (const Sizes& s : gemm_sizes(large)) {
    for (const bool packed : {true, false}) {
      all.push_back(made(std::make_shared<IntegerState<std::uint8_t, std::int8_t>>(s, packed, random),
                         s.text(packed), s.operations()));
      if (large) continue;
      all.push_back(made(std::make_shared<IntegerState<std::int8_t, std::int8_t>>(s, packed, random),
                         s.text(packed), s.operations()));
      all.push_back(made(std::make_shared<IntegerState<std::int16_t, std::int8_t>>(s, packed, random),
                         s.text(packed), s.operations()));
    }
  }
  return all;
}

inline KernelCases of(const Int64Gemm&, bool large, std::mt19937& random) {
  KernelCases all;
  for (const Sizes& s : gemm_sizes(large))
    all.push_back(made(std::make_shared<IntegerState<std::int16_t, std::int16_t>>(s, true, random), s.text(),
                       s.operations()));
  return all;
}

// ---- GEMM by 4-bit weights in blocks of 32

template <class Right>
struct PackedState {
  static constexpr std::int64_t kBlock = 32;
  PackedState(Sizes of, std::mt19937& random)
      : s(of),
        a(numbers<float>(s.m * s.k, -127, 127, random)),
        codes(numbers<std::uint8_t>(s.k * s.n, 0, 15, random)),
        table(16),
        y(at(s.m * s.n)),
        expected(y.size()) {
    for (int i = 0; i < 16; ++i) table[at(i)] = static_cast<float>(i - 8);
    // The largest of each run of 32 is 127: quantization to int8 is exact.
    for (std::int64_t i = 0; i < s.m * s.k; ++i) {
      if (i % s.k % kBlock == 0) a[at(i)] = 127;
    }
    CodeMatrix matrix{.k = s.k, .n = s.n, .block = kBlock, .table = table};
    matrix.column = [this](std::int64_t c, std::uint8_t* to) {
      for (std::int64_t k = 0; k < s.k; ++k) to[k] = codes[at(k * s.n + c)];
    };
    factors = numbers<float>(s.n * matrix.blocks(), 1, 4, random);
    matrix.factors = factors.data();
    right = Right::make(matrix);
    blocks = matrix.blocks();
  }
  void run(ThreadPool& pool) {
    gemm({.m = s.m,
          .n = s.n,
          .k = s.k,
          .a = {a.data(), s.k, 1},
          .b = right.get(),
          .c = y.data(),
          .c_stride = s.n},
         pool);
  }
  void reference() {
    for (std::int64_t r = 0; r < s.m; ++r) {
      for (std::int64_t c = 0; c < s.n; ++c) {
        float sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k)
          sum += a[at(r * s.k + k)] * (table[codes[at(k * s.n + c)]] * factors[at(c * blocks + k / kBlock)]);
        expected[at(r * s.n + c)] = sum;
      }
    }
  }
  Sizes s;
  std::vector<float> a;
  std::vector<std::uint8_t> codes;
  std::vector<float> table, factors, y, expected;
  std::int64_t blocks = 0;
  std::unique_ptr<const FloatRhs> right;
};

template <class Right>
KernelCases packed_cases(bool large, double tolerance, std::mt19937& random) {
  KernelCases all;
  for (const Sizes& s : gemm_sizes(large)) {
    auto state = std::make_shared<PackedState<Right>>(s, random);
    if (!state->right) continue;
    all.push_back(made(std::move(state), s.text(), s.operations()));
    all.back().tolerance = tolerance;
  }
  return all;
}
inline KernelCases of(const PackedGemm&, bool large, std::mt19937& random) {
  return packed_cases<PackedCodes>(large, 0, random);
}
// Scales of 127 / 127 are exact; so are sums of integers.
inline KernelCases of(const DynamicGemm&, bool large, std::mt19937& random) {
  return packed_cases<DynamicInt8Weights>(large, 0, random);
}

// ---- binary GEMM

struct BinaryState {
  BinaryState(Sizes of, std::mt19937& random)
      : s(of),
        a(numbers<float>(s.m * s.k, -3, 3, random)),
        negative(numbers<std::uint8_t>(s.k * s.n, 0, 1, random)),
        y(at(s.m * s.n)),
        expected(y.size()),
        factors(at(s.n), 2.0F),
        packed(s.k, s.n, [this](std::int64_t k, std::int64_t c) { return negative[at(k * s.n + c)] != 0; }) {}
  void run(ThreadPool& pool) {
    multiply({.m = s.m,
              .a = a.data(),
              .a_stride = s.k,
              .b = &packed,
              .c = y.data(),
              .c_stride = s.n,
              .factors = factors.data()},
             pool);
  }
  void reference() {
    for (std::int64_t r = 0; r < s.m; ++r) {
      for (std::int64_t c = 0; c < s.n; ++c) {
        int sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k)
          sum += (a[at(r * s.k + k)] < 0) == (negative[at(k * s.n + c)] != 0) ? 1 : -1;
        expected[at(r * s.n + c)] = static_cast<float>(2 * sum);
      }
    }
  }
  Sizes s;
  std::vector<float> a;
  std::vector<std::uint8_t> negative;
  std::vector<float> y, expected, factors;
  PackedBinary packed;
};

inline KernelCases of(const BinaryGemm&, bool large, std::mt19937& random) {
  KernelCases all;
  for (const Sizes& s : gemm_sizes(large))
    all.push_back(made(std::make_shared<BinaryState>(s, random), s.text(), s.operations()));
  return all;
}

}  // namespace anybit::kernels::cases
