// Integer convolutions against naive loops, for every SIMD target of this CPU, with extreme values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/conv/conv_int8_winograd.hpp"
#include "kernels/conv/depthwise_int8.hpp"
#include "kernels/gemm/gemm_int8_vnni.hpp"
#include "unit/kernels/paths.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

class IntegerConvOnEveryTarget : public OnEveryPath {
 protected:
  std::mt19937 random_{kSeed};
  ThreadPool pool_{2};
};

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Shape {
  std::int64_t batch, in_channels, out_channels, groups, height, width, kernel, stride, dilation, before,
      after;
};
std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.in_channels << " to " << s.out_channels << " channels, " << s.height << "x" << s.width
             << ", kernel " << s.kernel << ", stride " << s.stride << ", dilation " << s.dilation
             << ", padding " << s.before << " and " << s.after << ", seed " << kSeed;
}

WindowAxis axis(std::int64_t input, const Shape& s) {
  const std::int64_t reach = (s.kernel - 1) * s.dilation + 1;
  return {.input = input,
          .output = (input + s.before + s.after - reach) / s.stride + 1,
          .kernel = s.kernel,
          .stride = s.stride,
          .dilation = s.dilation,
          .before = s.before,
          .after = s.after};
}
ConvSizes sizes_of(const Shape& s) {
  return {.batch = s.batch,
          .in_channels = s.in_channels,
          .out_channels = s.out_channels,
          .groups = s.groups,
          .window = {WindowAxis{}, axis(s.height, s), axis(s.width, s)}};
}

// The data of a convolution; extreme values make sums as large as possible.
struct Case {
  ConvSizes sizes;
  IntegerType x_type;
  bool x_signed;
  std::int32_t x_zero;
  std::vector<std::uint8_t> x;  // channels-last; the bytes of its values
  std::vector<std::int16_t> w;  // [out][in per group][tap]
  std::vector<std::int32_t> bias;
  std::vector<float> multiplier;

  Case(const ConvSizes& of, bool is_signed, std::int32_t largest, bool extreme, std::mt19937& random)
      : Case(of, is_signed ? IntegerType::int8 : IntegerType::uint8, largest, extreme, random) {}
  Case(const ConvSizes& of, IntegerType type, std::int32_t largest, bool extreme, std::mt19937& random)
      : sizes(of), x_type(type), x_signed(type == IntegerType::int8 || type == IntegerType::int16) {
    const std::int64_t bytes = bytes_of(type);
    const std::int32_t highest = (1 << (8 * bytes)) - 1;
    x_zero = x_signed ? -highest / 2 - 1 : highest;
    x.resize(at(sizes.batch * sizes.in_channels * input_size(sizes.window) * bytes));
    w.resize(at(sizes.out_channels * sizes.depth()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool top = at(bytes) == i % at(bytes) + 1;  // the byte with the sign bit
      const int farthest = !x_signed ? 0 : top ? 127 : 255;
      x[i] = static_cast<std::uint8_t>(extreme ? farthest : static_cast<int>(random() % 256));
    }
    for (auto& one : w) {
      one = static_cast<std::int16_t>(
          extreme ? -largest : static_cast<std::int32_t>(random() % at(2 * largest)) - largest);
    }
    for (std::int64_t c = 0; c < sizes.out_channels; ++c) {
      bias.push_back(static_cast<std::int32_t>(random() % 20001) - 10000);
      multiplier.push_back(static_cast<float>(random() % 1000 + 1) * 1e-6f);
    }
  }

  std::int64_t value(std::int64_t i) const {
    const auto number = [&]<class T>(T one) {
      std::memcpy(&one, x.data() + at(i) * sizeof(T), sizeof(T));
      return std::int64_t{one} - x_zero;
    };
    if (bytes_of(x_type) == 1) return x_signed ? number(std::int8_t()) : number(std::uint8_t());
    return x_signed ? number(std::int16_t()) : number(std::uint16_t());
  }
  std::int64_t sum(std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t o) const {
    const auto& [d, h, width] = sizes.window;
    const std::int64_t channels = sizes.in_per_group(), first = o / sizes.out_per_group() * channels;
    std::int64_t total = bias[at(o)];
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      for (std::int64_t kw = 0; kw < width.kernel; ++kw) {
        const std::int64_t ih = start_of(h, oh) + kh * h.dilation,
                           iw = start_of(width, ow) + kw * width.dilation;
        if (ih < 0 || ih >= h.input || iw < 0 || iw >= width.input) continue;
        const std::int64_t place = ((n * h.input + ih) * width.input + iw) * sizes.in_channels + first;
        for (std::int64_t i = 0; i < channels; ++i) {
          total += value(place + i) * w[at(((o * channels + i) * h.kernel + kh) * width.kernel + kw)];
        }
      }
    }
    return total;
  }
  // The result of channel o: an integer, or float32 with the channel's addend.
  template <class Y>
  Y result(std::int64_t total, std::int64_t o, std::int32_t zero) const {
    const float scaled = static_cast<float>(total) * multiplier[at(o)];
    if constexpr (std::is_same_v<Y, std::int32_t>) return static_cast<std::int32_t>(total);
    if constexpr (std::is_same_v<Y, float>) return scaled + static_cast<float>(o);
    const float code = std::nearbyint(scaled) + static_cast<float>(zero);
    constexpr auto kLow = static_cast<float>(std::numeric_limits<Y>::lowest());
    constexpr auto kHigh = static_cast<float>(std::numeric_limits<Y>::max());
    return static_cast<Y>(std::min(std::max(code, kLow), kHigh));
  }
  template <class Y>
  void check(const std::vector<Y>& y, std::int32_t zero) const {
    const auto& [d, h, w] = sizes.window;
    std::size_t i = 0;
    for (std::int64_t n = 0; n < sizes.batch; ++n) {
      for (std::int64_t place = 0; place < h.output * w.output; ++place) {
        for (std::int64_t o = 0; o < sizes.out_channels; ++o, ++i) {
          const std::int64_t total = sum(n, place / w.output, place % w.output, o);
          ASSERT_EQ(y[i], result<Y>(total, o, zero)) << "position " << place << ", channel " << o;
        }
      }
    }
  }
};

template <class Y>
IntegerResult result_of() {
  if (std::is_same_v<Y, std::int32_t>) return IntegerResult::int32;
  if (std::is_same_v<Y, float>) return IntegerResult::float32;
  if (sizeof(Y) == 2) return std::is_signed_v<Y> ? IntegerResult::int16 : IntegerResult::uint16;
  return std::is_signed_v<Y> ? IntegerResult::int8 : IntegerResult::uint8;
}

template <class Y>
void check_depthwise(const Case& test, int parts = 1) {
  const ConvSizes& sizes = test.sizes;
  const DepthwiseBlocks blocks{sizes.out_channels};
  const std::int64_t taps = kernel_size(sizes.window), pairs = (taps + 1) / 2;
  std::vector<std::int16_t> weights(at(blocks.slots() * 2 * pairs)), upper(weights.size());
  std::vector<std::int32_t> bias(at(blocks.slots()));
  std::vector<double> wide_bias(bias.size());
  const std::int32_t left_zero = test.x_type == IntegerType::uint16 ? test.x_zero - 32768 : test.x_zero;
  std::vector<float> multiplier(at(blocks.slots())), addend(at(blocks.slots()));
  for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
    const std::int64_t c = blocks.channel(slot);
    if (c >= sizes.out_channels) continue;
    std::int32_t sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int64_t pair = (slot / 16 * pairs + t / 2) * 16 + slot % 16;
      const std::int32_t weight = test.w[at(c * taps + t)];
      weights[at(pair * 2 + t % 2)] =
          static_cast<std::int16_t>(parts == 1 ? weight : IntegerDepthwise::lower_part(weight));
      upper[at(pair * 2 + t % 2)] = static_cast<std::int16_t>(IntegerDepthwise::upper_part(weight));
      sum += weight;
    }
    const double exact = test.bias[at(c)] - static_cast<double>(left_zero) * sum;
    wide_bias[at(slot)] = exact;
    bias[at(slot)] = static_cast<std::int32_t>(static_cast<std::int64_t>(exact));
    multiplier[at(slot)] = test.multiplier[at(c)];
    addend[at(slot)] = static_cast<float>(c);
  }
  const std::int64_t rows = sizes.batch * sizes.window[1].output;
  std::vector<Y> y(at(rows * sizes.window[2].output * sizes.out_channels));
  const IntegerDepthwise work{.sizes = sizes,
                              .weights = weights.data(),
                              .bias = bias.data(),
                              .multiplier = multiplier.data(),
                              .addend = addend.data(),
                              .x_type = test.x_type,
                              .result = result_of<Y>(),
                              .x_zero = test.x_zero,
                              .y_zero = 3,
                              .x = test.x.data(),
                              .y = y.data(),
                              .upper = parts == 2 ? upper.data() : nullptr,
                              .wide_bias = wide_bias.data()};
  depthwise_integer(work, 0, rows / 2);
  depthwise_integer(work, rows / 2, rows);
  test.check(y, 3);
}

// Shapes of depthwise convolutions with this many channels.
std::vector<Shape> depthwise_shapes(std::int64_t c) {
  return {{1, c, c, c, 5, 7, 3, 1, 1, 1, 1},    {2, c, c, c, 9, 6, 5, 2, 1, 2, 2},
          {1, c, c, c, 8, 12, 3, 1, 3, 2, 3},   {1, c, c, c, 3, 3, 2, 1, 1, 0, 1},
          {1, c, c, c, 16, 17, 15, 1, 1, 0, 0}, {2, c, c, c, 4, 75, 3, 1, 2, 1, 1}};
}
constexpr std::int64_t kDepthwiseChannels[] = {1, 2, 4, 8, 15, 16, 17, 32, 40};

TEST_P(IntegerConvOnEveryTarget, SixteenBitDepthwiseEqualsNaiveLoops) {
  for (const std::int64_t c : kDepthwiseChannels) {
    for (const Shape& s : depthwise_shapes(c)) {
      SCOPED_TRACE(::testing::Message() << s);
      for (const bool extreme : {false, true}) {
        check_depthwise<std::int16_t>({sizes_of(s), IntegerType::int16, 127, extreme, random_});
        check_depthwise<std::uint16_t>({sizes_of(s), IntegerType::uint16, 127, extreme, random_});
        check_depthwise<std::int8_t>({sizes_of(s), IntegerType::uint16, 127, extreme, random_});
        check_depthwise<std::int16_t>({sizes_of(s), IntegerType::uint8, 255, extreme, random_});
        check_depthwise<std::int16_t>({sizes_of(s), IntegerType::uint16, 32767, extreme, random_}, 2);
        check_depthwise<std::uint16_t>({sizes_of(s), IntegerType::int16, 32767, extreme, random_}, 2);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(IntegerConvOnEveryTarget, EightBitDepthwiseEqualsNaiveLoops) {
  for (const std::int64_t c : kDepthwiseChannels) {
    std::vector<Shape> shapes = depthwise_shapes(c);
    shapes.push_back({1, c, c, c, 16, 17, 16, 1, 1, 0, 0});
    for (const Shape& s : shapes) {
      SCOPED_TRACE(::testing::Message() << s);
      for (const bool extreme : {false, true}) {
        check_depthwise<std::uint8_t>({sizes_of(s), false, 255, extreme, random_});
        check_depthwise<std::int8_t>({sizes_of(s), true, 255, extreme, random_});
        check_depthwise<std::int32_t>({sizes_of(s), false, 255, extreme, random_});
        check_depthwise<float>({sizes_of(s), true, 255, extreme, random_});
      }
      if (HasFatalFailure()) return;
    }
  }
}

// Destination and type of the results.
template <class Y>
IntegerGemmWork gemm_work_of(const Case& test, std::vector<Y>& y) {
  const ConvSizes& sizes = test.sizes;
  IntegerGemmWork work{.m = sizes.batch * output_size(sizes.window), .n = sizes.out_channels};
  y.assign(at(work.m * work.n), Y());
  work.c = y.data();
  work.c_stride = sizes.out_channels;
  work.epilogue = {.type = std::is_signed_v<Y> ? IntegerResult::int8 : IntegerResult::uint8,
                   .bias = {test.bias.data(), 0, 1},
                   .scale = {test.multiplier.data(), 0, 1},
                   .zero_point = 7,
                   .low = std::numeric_limits<Y>::min(),
                   .high = std::numeric_limits<Y>::max()};
  return work;
}

template <class Y>
void check_winograd(const Case& test, ThreadPool& pool) {
  const ConvSizes even = winograd_sizes(test.sizes);
  const ConvRuns runs{even};
  std::vector<std::int16_t> image(at(runs.elements()), -1);
  runs.lay_out(test.x_signed ? IntegerType::int8 : IntegerType::uint8, test.x.data(), true, test.x_zero,
               image.data(), pool);
  std::vector<Y> y;
  const IntegerGemmWork work = gemm_work_of(test, y);
  conv_winograd(runs, image.data(), WinogradWeights(test.sizes, test.w.data()), work, pool);
  test.check(y, 7);
}

TEST_P(IntegerConvOnEveryTarget, WinogradEqualsNaiveLoops) {
  for (const Shape& s :
       {Shape{1, 16, 16, 1, 12, 11, 3, 1, 1, 1, 1}, Shape{2, 22, 24, 1, 7, 9, 3, 1, 1, 0, 1},
        Shape{1, 40, 17, 1, 15, 31, 3, 1, 1, 2, 2}, Shape{1, 1826, 16, 1, 3, 4, 3, 1, 1, 0, 0}}) {
    SCOPED_TRACE(::testing::Message() << s);
    for (const bool extreme : {false, true}) {
      check_winograd<std::uint8_t>({sizes_of(s), false, 128, extreme, random_}, pool_);
      check_winograd<std::int8_t>({sizes_of(s), true, 128, extreme, random_}, pool_);
    }
    if (HasFatalFailure()) return;
  }
}

template <class Y>
void check_conv(const Case& test, bool channels_last, ThreadPool& pool) {
  const ConvSizes& sizes = test.sizes;
  const ConvRuns runs{sizes};
  const auto& [d, h, w] = sizes.window;
  std::vector<std::int8_t> b(at(runs.depth() * sizes.out_channels));
  for (std::int64_t o = 0; o < sizes.out_channels; ++o) {
    for (std::int64_t i = 0; i < sizes.in_channels; ++i) {
      for (std::int64_t t = 0; t < h.kernel * w.kernel; ++t) {
        const std::int64_t k = t / w.kernel * runs.even_length() + t % w.kernel * sizes.in_channels + i;
        b[at(k * sizes.out_channels + o)] =
            static_cast<std::int8_t>(test.w[at((o * sizes.in_channels + i) * h.kernel * w.kernel + t)]);
      }
    }
  }
  const PackedIntegers packed({IntegerType::int8, b.data(), sizes.out_channels, 1}, runs.depth(),
                              sizes.out_channels, {});
  std::vector<std::uint8_t> x = test.x;
  const std::int64_t space = h.input * w.input;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()) && !channels_last; ++i) {
    const std::int64_t n = i / (space * sizes.in_channels), c = i % sizes.in_channels;
    x[at((n * sizes.in_channels + c) * space + i / sizes.in_channels % space)] = test.x[at(i)];
  }
  const IntegerType type = test.x_signed ? IntegerType::int8 : IntegerType::uint8;
  std::vector<Y> y;
  IntegerGemmWork work = gemm_work_of(test, y);
  work.k = runs.depth();
  work.b = &packed;
  if (usable(Instructions::avx512_vnni)) {
    std::vector<std::uint8_t> image(at(runs.elements()), 77);
    runs.lay_out(type, x.data(), channels_last, test.x_zero, image.data(), pool);
    work.a.type = type;
    work.a_zero = {&test.x_zero, 0, 0};
    dot4_conv(runs, image.data(), work, pool);
  } else {
    std::vector<std::int16_t> image(at(runs.elements()), -1);
    runs.lay_out(type, x.data(), channels_last, test.x_zero, image.data(), pool);
    conv_int16(runs, image.data(), work, pool);
  }
  test.check(y, 7);
}

TEST_P(IntegerConvOnEveryTarget, ImageConvEqualsNaiveLoops) {
  for (const Shape& s : {Shape{1, 3, 8, 1, 9, 11, 3, 2, 1, 1, 1}, Shape{2, 3, 20, 1, 13, 9, 7, 2, 1, 3, 3},
                         Shape{1, 5, 33, 1, 6, 7, 3, 1, 1, 0, 2}, Shape{1, 16, 24, 1, 5, 40, 3, 1, 1, 1, 1},
                         Shape{1, 1, 1, 1, 4, 4, 4, 1, 1, 0, 0}, Shape{1, 8, 17, 1, 7, 5, 1, 2, 1, 0, 0}}) {
    for (const bool channels_last : {true, false}) {
      SCOPED_TRACE(::testing::Message() << s);
      for (const bool extreme : {false, true}) {
        check_conv<std::uint8_t>({sizes_of(s), false, 128, extreme, random_}, channels_last, pool_);
        check_conv<std::int8_t>({sizes_of(s), true, 128, extreme, random_}, channels_last, pool_);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(IntegerConvOnEveryTarget, SumsOfSixtyThousandExtremeProductsAreExact) {
  const Shape s{1, 6667, 3, 1, 3, 4, 3, 1, 1, 0, 0};
  check_conv<std::uint8_t>({sizes_of(s), false, 128, true, random_}, true, pool_);
  check_conv<std::int8_t>({sizes_of(s), true, 128, true, random_}, true, pool_);
}

INSTANTIATE_TEST_SUITE_P(Targets, IntegerConvOnEveryTarget, ::testing::ValuesIn(every_path()), path_name);

}  // namespace
}  // namespace anybit::kernels
