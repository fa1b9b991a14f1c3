// Elementwise work for the kernels of the list, and codecs.
#pragma once

#include <algorithm>
#include <limits>

#include "formats/scaled.hpp"
#include "kernels/elementwise/binary.hpp"
#include "kernels/elementwise/float16.hpp"
#include "kernels/elementwise/look_up.hpp"
#include "kernels/elementwise/quantize.hpp"
#include "kernels/elementwise/unary.hpp"
#include "kernels/reduce/softmax.hpp"
#include "unit/kernels/kernel_case.hpp"

namespace anybit::kernels::cases {

// ---- elementwise

template <class Y>
struct ElementState {
  explicit ElementState(std::int64_t n) : y(at(n)), expected(y.size()) {}
  void run(ThreadPool&) { fast(y); }
  void reference() { plain(expected); }
  std::function<void(std::vector<Y>&)> fast, plain;
  std::vector<Y> y, expected;
};

inline std::vector<std::int64_t> lengths(bool large) {
  return large ? std::vector<std::int64_t>{65536} : std::vector<std::int64_t>{1, 7, 16, 33, 64, 259, 1000};
}

// make(state, n) sets the two functions. Q: the integer type.
template <class Q, class Y, class Make>
KernelCases elements(bool large, const Make& make) {
  KernelCases all;
  for (const std::int64_t n : lengths(large)) {
    auto state = std::make_shared<ElementState<Y>>(n);
    make(*state, n);
    all.push_back(made(std::move(state), std::to_string(n) + " of " + std::to_string(8 * sizeof(Q)) + " bits",
                       static_cast<double>(n)));
  }
  return all;
}

template <class Q>
Q code_of(float rounded) {
  return static_cast<Q>(std::min(std::max(rounded, static_cast<float>(std::numeric_limits<Q>::min())),
                                 static_cast<float>(std::numeric_limits<Q>::max())));
}

inline constexpr float kScale = 0.037F;
inline constexpr std::int32_t kZeroPoint = 5;

template <class Q>
KernelCases quantize_cases(bool large, std::mt19937& random) {
  return elements<Q, Q>(large, [&](ElementState<Q>& state, std::int64_t n) {
    const auto x = numbers<float>(n, -2000, 2000, random);
    state.fast = [x](std::vector<Q>& y) {
      quantize(x.data(), Scales{&kScale, &kZeroPoint, 0}, y.data(), y.size());
    };
    state.plain = [x](std::vector<Q>& y) {
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = code_of<Q>(std::nearbyint(x[i] / kScale) + kZeroPoint);
    };
  });
}
template <class Q>
KernelCases dequantize_cases(bool large, std::mt19937& random) {
  return elements<Q, float>(large, [&](ElementState<float>& state, std::int64_t n) {
    const auto q = numbers<Q>(n, std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max(), random);
    state.fast = [q](std::vector<float>& y) {
      dequantize(q.data(), Scales{&kScale, &kZeroPoint, 0}, y.data(), y.size());
    };
    state.plain = [q](std::vector<float>& y) {
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(q[i] - kZeroPoint) * kScale;
    };
  });
}
template <class Q, bool kSum>
KernelCases pair_cases(bool large, std::mt19937& random) {
  return elements<Q, Q>(large, [&](ElementState<Q>& state, std::int64_t n) {
    const auto a = numbers<Q>(n, std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max(), random);
    const auto b = numbers<Q>(n, std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max(), random);
    const QuantizedPair by{
        .a_factor = kSum ? 0.4F : 0.006F, .b_factor = 0.7F, .a_zero = 3, .b_zero = -4, .zero_point = 6};
    state.fast = [a, b, by](std::vector<Q>& y) {
      const auto pair = kSum ? quantized_sum<Q> : quantized_product<Q>;
      pair(a.data(), 1, b.data(), 1, y.data(), y.size(), by);
    };
    state.plain = [a, b, by](std::vector<Q>& y) {
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto x = static_cast<float>(a[i] - by.a_zero), z = static_cast<float>(b[i] - by.b_zero);
        const float f = kSum ? x * by.a_factor + z * by.b_factor : x * z * by.a_factor;
        y[i] = code_of<Q>(std::nearbyint(f) + static_cast<float>(by.zero_point));
      }
    };
  });
}

inline KernelCases both(KernelCases a, KernelCases b) {
  for (KernelCase& one : b) a.push_back(std::move(one));
  return a;
}

inline KernelCases of(const Quantize&, bool large, std::mt19937& random) {
  return both(quantize_cases<std::int8_t>(large, random), quantize_cases<std::uint16_t>(large, random));
}
inline KernelCases of(const Dequantize&, bool large, std::mt19937& random) {
  return both(dequantize_cases<std::int8_t>(large, random), dequantize_cases<std::uint16_t>(large, random));
}
inline KernelCases of(const QuantizedSum&, bool large, std::mt19937& random) {
  return both(pair_cases<std::int8_t, true>(large, random), pair_cases<std::int16_t, true>(large, random));
}
inline KernelCases of(const QuantizedProduct&, bool large, std::mt19937& random) {
  return both(pair_cases<std::int8_t, false>(large, random), pair_cases<std::int16_t, false>(large, random));
}
inline KernelCases of(const LookUp&, bool large, std::mt19937& random) {
  return elements<std::uint8_t, std::uint8_t>(large, [&](ElementState<std::uint8_t>& state, std::int64_t n) {
    const auto x = numbers<std::uint8_t>(n, 0, 255, random),
               table = numbers<std::uint8_t>(256, 0, 255, random);
    state.fast = [x, table](std::vector<std::uint8_t>& y) {
      look_up(x.data(), table.data(), y.data(), y.size());
    };
    state.plain = [x, table](std::vector<std::uint8_t>& y) {
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = table[x[i]];
    };
  });
}

// ---- float32, unary and binary

template <class Fast, class Plain>
KernelCases float_cases(bool large, double tolerance, std::mt19937& random, const Fast& fast,
                        const Plain& plain) {
  KernelCases all = elements<float, float>(large, [&](ElementState<float>& state, std::int64_t n) {
    std::vector<float> x = numbers<float>(n, -500, 500, random);
    for (float& one : x) one = one == 0 ? 1 : one / 64;  // nonzero, for division
    state.fast = [x, fast](std::vector<float>& y) { fast(x, y); };
    state.plain = [x, plain](std::vector<float>& y) { plain(x, y); };
  });
  for (KernelCase& one : all) one.tolerance = tolerance;
  return all;
}

template <class Function>
KernelCases map_cases(Map which, double tolerance, bool large, std::mt19937& random,
                      const Function& function) {
  return float_cases(
      large, tolerance, random,
      [which](const std::vector<float>& x, std::vector<float>& y) {
        map(which, x.data(), y.data(), y.size(), 0.25F);
      },
      [function](const std::vector<float>& x, std::vector<float>& y) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(function(x[i]));
      });
}
inline KernelCases of(const FloatUnary&, bool large, std::mt19937& random) {
  return both(
      both(map_cases(Map::leaky_relu, 0, large, random, [](float x) { return x < 0 ? 0.25F * x : x; }),
           map_cases(Map::sigmoid, 1e-6, large, random, [](double x) { return 1 / (1 + std::exp(-x)); })),
      map_cases(Map::erf, 1e-6, large, random, [](double x) { return std::erf(x); }));
}

template <class Function>
KernelCases float_pair_cases(FloatBinaryRun which, bool large, std::mt19937& random,
                             const Function& function) {
  return float_cases(
      large, 0, random,
      [which](const std::vector<float>& x, std::vector<float>& y) {
        which(x.data(), 1, x.data() + x.size() / 2, 0, y.data(), y.size());
      },
      [function](const std::vector<float>& x, std::vector<float>& y) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = function(x[i], x[x.size() / 2]);
      });
}
inline KernelCases of(const FloatBinary&, bool large, std::mt19937& random) {
  return both(
      both(float_pair_cases(add, large, random, [](float a, float b) { return a + b; }),
           float_pair_cases(divide, large, random, [](float a, float b) { return a / b; })),
      both(float_pair_cases(larger, large, random, [](float a, float b) { return std::max(a, b); }),
           float_pair_cases(leak, large, random, [](float a, float b) { return a < 0 ? a * b : a; })));
}

// Softmax of `count` rows or columns; consecutive elements are `step` apart.
inline void plain_softmax(const float* x, std::size_t n, std::size_t step, float* y) {
  double largest = x[0], sum = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max<double>(largest, x[i * step]);
  for (std::size_t i = 0; i < n; ++i) sum += std::exp(x[i * step] - largest);
  for (std::size_t i = 0; i < n; ++i) y[i * step] = static_cast<float>(std::exp(x[i * step] - largest) / sum);
}
inline KernelCases of(const RowSoftmax&, bool large, std::mt19937& random) {
  return float_cases(
      large, 1e-6, random,
      [](const std::vector<float>& x, std::vector<float>& y) {
        softmax_rows(x.data(), 1, y.size(), false, y.data());
      },
      [](const std::vector<float>& x, std::vector<float>& y) {
        plain_softmax(x.data(), y.size(), 1, y.data());
      });
}
inline KernelCases of(const ColumnSoftmax&, bool large, std::mt19937& random) {
  // A number of columns that divides the length: 7 rows of 37, 8 of 125, …
  const auto rows_of = [](std::size_t n) -> std::size_t { return n % 8 == 0 ? 8 : n % 7 == 0 ? 7 : 1; };
  return float_cases(
      large, 1e-6, random,
      [rows_of](const std::vector<float>& x, std::vector<float>& y) {
        const std::size_t rows = rows_of(x.size()), columns = x.size() / rows;
        softmax_columns(x.data(), rows, columns, columns, false, y.data());
      },
      [rows_of](const std::vector<float>& x, std::vector<float>& y) {
        const std::size_t rows = rows_of(x.size()), columns = x.size() / rows;
        for (std::size_t c = 0; c < columns; ++c) plain_softmax(x.data() + c, rows, columns, y.data() + c);
      });
}

// The nearest value of float16; ties to even.
inline float plain_float16(float x) {
  if (x == 0) return x;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  return static_cast<float>(std::nearbyint(x / step) * step);
}
inline KernelCases float16_rounding_cases(bool large, std::mt19937& random) {
  return float_cases(
      large, 0, random,
      [](const std::vector<float>& x, std::vector<float>& y) {
        through_float16(x.data(), y.data(), y.size(), {-3.1415926F, 4.7F});
      },
      [](const std::vector<float>& x, std::vector<float>& y) {
        for (std::size_t i = 0; i < y.size(); ++i) y[i] = plain_float16(std::clamp(x[i], -3.1415926F, 4.7F));
      });
}

// A round trip: integers of few bits are exact.
inline KernelCases of(const Float16Conversion&, bool large, std::mt19937& random) {
  const auto cases = [&](int most, auto to, auto from) {
    return elements<std::uint16_t, float>(large, [&](ElementState<float>& state, std::int64_t n) {
      const auto x = numbers<float>(n, -most, most, random);
      state.fast = [x, to, from](std::vector<float>& y) {
        std::vector<std::uint16_t> float16s(y.size());
        to(x.data(), float16s.data(), y.size());
        from(float16s.data(), y.data(), y.size());
      };
      state.plain = [x](std::vector<float>& y) { y = x; };
    });
  };
  return both(float16_rounding_cases(large, random),
              both(cases(2048, to_float16, from_float16), cases(256, to_bfloat16, from_bfloat16)));
}

// ---- codecs: quantization to every format of the family, against the scalar codec

inline KernelCases of(const GroupCodec& family, bool large, std::mt19937& random) {
  KernelCases all;
  const auto add = [&](const formats::Descriptor* format, const formats::GroupingOptions& grouping) {
    const auto codec = formats::codec_of(*format, *formats::complete(*format, {}), grouping);
    if (!codec.ok() || (large && !all.empty())) return;
    const std::shared_ptr<const GroupKernel> fast = family.make(*codec);
    if (!fast) return;
    const std::shared_ptr<const GroupKernel> plain = plain_kernel(*codec, formats::Rounding::half_even);
    const Groups shape{32, large ? 2048U : 7U, static_cast<std::size_t>((*codec)->words(32))};
    auto state = std::make_shared<ElementState<float>>(static_cast<std::int64_t>(shape.count()));
    const auto x = numbers<float>(static_cast<std::int64_t>(shape.count()), -900, 900, random);
    std::vector<std::uint32_t> words(shape.groups * shape.stride);
    if (shape.stride > 0) {
      (*codec)->choose_for_tensor(x, std::span(words).first(shape.stride));
      for (std::size_t i = shape.stride; i < words.size(); ++i) words[i] = words[i - shape.stride];
    }
    const auto rounding = [shape, x, words](std::shared_ptr<const GroupKernel> kernel) {
      return [=, own = words](std::vector<float>& y) mutable {
        kernel->choose_and_quantize(shape, x.data(), own.data(), nullptr, y.data());
      };
    };
    state->fast = rounding(fast);
    state->plain = rounding(plain);
    all.push_back(made(std::move(state), std::string(format->name), static_cast<double>(shape.count())));
  };
  formats::GroupingOptions blocks;
  blocks.block_size = 32;
  for (const formats::Descriptor* format : formats::table()) {
    add(format, {});
    if (format->granularity == Granularity::element) add(format, blocks);  // with a scale
  }
  return all;
}

}  // namespace anybit::kernels::cases
