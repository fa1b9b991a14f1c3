// Integer convolutions, as cases for the kernels of the list.
#pragma once

#include "kernels/conv/conv_int8_winograd.hpp"
#include "kernels/conv/depthwise_int8.hpp"
#include "kernels/gemm/gemm_int8_vnni.hpp"
#include "unit/kernels/kernel_case.hpp"

namespace anybit::kernels::cases {

// ---- integer convolutions, channels last

struct Shape {
  std::int64_t batch, in, out, groups, height, width, kernel, stride, pad;
};

inline WindowAxis axis(std::int64_t input, const Shape& s) {
  return {.input = input,
          .output = (input + 2 * s.pad - s.kernel) / s.stride + 1,
          .kernel = s.kernel,
          .stride = s.stride,
          .dilation = 1,
          .before = s.pad,
          .after = s.pad};
}

struct ConvState {
  ConvState(const Shape& s, std::mt19937& random)
      : sizes{.batch = s.batch,
              .in_channels = s.in,
              .out_channels = s.out,
              .groups = s.groups,
              .window = {WindowAxis{}, axis(s.height, s), axis(s.width, s)}},
        x(numbers<std::uint8_t>(s.batch * s.in * s.height * s.width, 0, 255, random)),
        w(numbers<std::int16_t>(s.out * sizes.depth(), -128, 127, random)),
        bias(numbers<std::int32_t>(s.out, -10000, 10000, random)),
        multiplier(at(s.out), 0x1p-10F),
        y(at(s.batch * output_size(sizes.window) * s.out)),
        expected(y.size()) {}
  virtual ~ConvState() = default;
  virtual void run(ThreadPool& pool) = 0;

  double operations() const {
    return 2.0 * static_cast<double>(y.size()) * static_cast<double>(sizes.depth());
  }
  std::string text() const {
    return std::to_string(sizes.in_channels) + " to " + std::to_string(sizes.out_channels) + " channels, " +
           std::to_string(sizes.window[1].input) + " x " + std::to_string(sizes.window[2].input) +
           ", kernel " + std::to_string(sizes.window[1].kernel);
  }
  void reference() {
    std::vector<std::uint8_t> plain(x.size());  // NCHW
    const std::int64_t space = input_size(sizes.window), channels = sizes.in_channels;
    for (std::int64_t i = 0; i < std::ssize(x); ++i)
      plain[at((i / (space * channels) * channels + i % channels) * space + i / channels % space)] = x[at(i)];
    const std::int64_t places = output_size(sizes.window);
    conv_direct<std::int64_t>(
        sizes, plain.data(), w.data(), 0, sizes.rows(),
        [](std::uint8_t one) { return std::int64_t{one} - kZero; },
        [](std::int16_t one, std::int64_t) { return std::int64_t{one}; },
        [&](std::int64_t sum, std::int64_t c, std::int64_t i) {
          const float code = std::nearbyint(static_cast<float>(sum + bias[at(c)]) * multiplier[at(c)]) + 3.0F;
          const std::int64_t n = i / (sizes.out_channels * places);
          expected[at((n * places + i % places) * sizes.out_channels + c)] =
              static_cast<std::uint8_t>(std::min(std::max(code, 0.0F), 255.0F));
        });
  }
  IntegerGemmWork gemm_work() {
    IntegerGemmWork made{.m = sizes.batch * output_size(sizes.window),
                         .n = sizes.out_channels,
                         .c = y.data(),
                         .c_stride = sizes.out_channels};
    made.epilogue = {.type = IntegerResult::uint8,
                     .bias = {bias.data(), 0, 1},
                     .scale = {multiplier.data(), 0, 1},
                     .zero_point = 3,
                     .low = 0,
                     .high = 255};
    return made;
  }

  static constexpr std::int32_t kZero = 117;
  ConvSizes sizes;
  std::vector<std::uint8_t> x;
  std::vector<std::int16_t> w;  // [out][in][tap]
  std::vector<std::int32_t> bias;
  std::vector<float> multiplier;
  std::vector<std::uint8_t> y, expected;
};

// By windows of an image of T.
template <class T>
struct WindowState final : ConvState {
  WindowState(const Shape& s, std::mt19937& random)
      : ConvState(s, random), image(at(ConvRuns{sizes}.elements())) {
    const ConvRuns runs{sizes};
    std::vector<std::int8_t> b(at(runs.depth() * sizes.out_channels));
    const std::int64_t side = s.kernel;
    for (std::int64_t i = 0; i < std::ssize(w); ++i) {
      const std::int64_t t = i % (side * side), c = i / (side * side) % s.in, o = i / sizes.depth();
      const std::int64_t k = t / side * runs.even_length() + t % side * s.in + c;
      b[at(k * s.out + o)] = static_cast<std::int8_t>(w[at(i)]);
    }
    packed = std::make_unique<PackedIntegers>(IntegerView{IntegerType::int8, b.data(), s.out, 1},
                                              runs.depth(), s.out, Spread<std::int32_t>{});
  }
  void run(ThreadPool& pool) override {
    const ConvRuns runs{sizes};
    runs.lay_out(IntegerType::uint8, x.data(), true, kZero, image.data(), pool);
    IntegerGemmWork work = gemm_work();
    work.k = runs.depth();
    work.b = packed.get();
    if constexpr (sizeof(T) == 1) {
      work.a.type = IntegerType::uint8;
      work.a_zero = {&zero, 0, 0};
      dot4_conv(runs, image.data(), work, pool);
    } else {
      conv_int16(runs, image.data(), work, pool);
    }
  }
  const std::int32_t zero = kZero;
  std::vector<T> image;
  std::unique_ptr<PackedIntegers> packed;
};

struct WinogradState final : ConvState {
  WinogradState(const Shape& s, std::mt19937& random)
      : ConvState(s, random),
        even(winograd_sizes(sizes)),
        image(at(ConvRuns{even}.elements())),
        weights(sizes, w.data()) {}
  void run(ThreadPool& pool) override {
    const ConvRuns runs{even};
    runs.lay_out(IntegerType::uint8, x.data(), true, kZero, image.data(), pool);
    conv_winograd(runs, image.data(), weights, gemm_work(), pool);
  }
  ConvSizes even;
  std::vector<std::int16_t> image;
  WinogradWeights weights;
};

struct DepthwiseState final : ConvState {
  DepthwiseState(const Shape& s, std::mt19937& random) : ConvState(s, random) {
    const DepthwiseBlocks blocks{s.out};
    const std::int64_t taps = kernel_size(sizes.window), pairs = (taps + 1) / 2;
    weights.resize(at(blocks.slots() * 2 * pairs));
    slot_bias.resize(at(blocks.slots()));
    slot_multiplier.assign(at(blocks.slots()), multiplier.front());
    for (std::int64_t slot = 0; slot < blocks.slots(); ++slot) {
      const std::int64_t c = blocks.channel(slot);
      if (c >= s.out) continue;
      slot_bias[at(slot)] = bias[at(c)];
      for (std::int64_t t = 0; t < taps; ++t) {
        weights[at(((slot / 16 * pairs + t / 2) * 16 + slot % 16) * 2 + t % 2)] = w[at(c * taps + t)];
        slot_bias[at(slot)] -= kZero * w[at(c * taps + t)];
      }
    }
  }
  void run(ThreadPool&) override {
    const IntegerDepthwise work{.sizes = sizes,
                                .weights = weights.data(),
                                .bias = slot_bias.data(),
                                .multiplier = slot_multiplier.data(),
                                .addend = nullptr,
                                .x_type = IntegerType::uint8,
                                .result = IntegerResult::uint8,
                                .x_zero = kZero,
                                .y_zero = 3,
                                .x = x.data(),
                                .y = y.data()};
    depthwise_integer(work, 0, sizes.batch * sizes.window[1].output);
  }
  std::vector<std::int16_t> weights;
  std::vector<std::int32_t> slot_bias;
  std::vector<float> slot_multiplier;
};

template <class State>
KernelCases convolutions(const std::vector<Shape>& shapes, std::mt19937& random) {
  KernelCases all;
  for (const Shape& s : shapes) {
    auto state = std::make_shared<State>(s, random);
    const std::string text = state->text();
    const double operations = state->operations();
    all.push_back(made(std::move(state), text, operations));
  }
  return all;
}

inline std::vector<Shape> window_shapes(bool large) {
  if (large) return {{1, 64, 64, 1, 28, 28, 3, 1, 1}, {1, 3, 32, 1, 112, 112, 3, 2, 1}};
  return {{1, 3, 8, 1, 9, 11, 3, 2, 1},
          {2, 3, 20, 1, 13, 9, 7, 2, 3},
          {1, 5, 33, 1, 6, 7, 3, 1, 0},
          {1, 16, 24, 1, 5, 40, 3, 1, 1},
          {1, 1, 1, 1, 4, 4, 4, 1, 0}};
}
inline KernelCases of(const ImageConv&, bool large, std::mt19937& random) {
  return convolutions<WindowState<std::int16_t>>(window_shapes(large), random);
}
inline KernelCases of(const ByteConv&, bool large, std::mt19937& random) {
  return convolutions<WindowState<std::uint8_t>>(window_shapes(large), random);
}
inline KernelCases of(const WinogradConv&, bool large, std::mt19937& random) {
  if (large) return convolutions<WinogradState>({{1, 64, 64, 1, 28, 28, 3, 1, 1}}, random);
  return convolutions<WinogradState>(
      {{1, 16, 16, 1, 12, 11, 3, 1, 1}, {2, 22, 24, 1, 7, 9, 3, 1, 0}, {1, 40, 17, 1, 15, 31, 3, 1, 2}},
      random);
}
inline KernelCases of(const DepthwiseConv&, bool large, std::mt19937& random) {
  if (large) return convolutions<DepthwiseState>({{1, 96, 96, 96, 56, 56, 3, 1, 1}}, random);
  KernelCases all;
  for (const std::int64_t c : {2, 4, 15, 17, 40}) {
    for (KernelCase& one :
         convolutions<DepthwiseState>({{1, c, c, c, 5, 7, 3, 1, 1}, {2, c, c, c, 9, 6, 5, 2, 2}}, random))
      all.push_back(std::move(one));
  }
  return all;
}

}  // namespace anybit::kernels::cases
