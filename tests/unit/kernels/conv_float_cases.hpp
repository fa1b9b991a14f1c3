// Float convolutions in blocks of 8 channels, as cases for the kernels of the list.
#pragma once

#include "kernels/conv/conv_winograd.hpp"
#include "kernels/conv/depthwise_float.hpp"
#include "unit/kernels/conv_cases.hpp"
#include "unit/kernels/element_cases.hpp"

namespace anybit::kernels::cases {

// [batch][channels][space] to [batch][channels / 8][space][8], padded with zeros, and back.
inline std::vector<float> blocked(const std::vector<float>& x, std::int64_t batch, std::int64_t channels) {
  const std::int64_t space = std::ssize(x) / (batch * channels), blocks = channel_blocks(channels);
  std::vector<float> to(at(batch * blocks * space * 8));
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const std::int64_t c = i / space % channels, n = i / space / channels;
    to[at(((n * blocks + c / 8) * space + i % space) * 8 + c % 8)] = x[at(i)];
  }
  return to;
}
inline std::vector<float> unblocked(const std::vector<float>& x, std::int64_t batch, std::int64_t channels) {
  const std::int64_t blocks = channel_blocks(channels), space = std::ssize(x) / (batch * blocks * 8);
  std::vector<float> to(at(batch * channels * space));
  for (std::int64_t i = 0; i < std::ssize(to); ++i) {
    const std::int64_t c = i / space % channels, n = i / space / channels;
    to[at(i)] = x[at(((n * blocks + c / 8) * space + i % space) * 8 + c % 8)];
  }
  return to;
}
inline std::vector<float> reals(std::int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> all(at(count));
  for (float& one : all) one = normal(random);
  return all;
}

// A convolution with a bias, an addend and an activation.
struct FloatConvState {
  FloatConvState(const Shape& s, std::mt19937& random)
      : sizes{.batch = s.batch,
              .in_channels = s.in,
              .out_channels = s.out,
              .groups = s.groups,
              .window = {WindowAxis{}, axis(s.height, s), axis(s.width, s)}},
        x(reals(s.batch * s.in * s.height * s.width, random)),
        w(reals(s.out * sizes.depth(), random)),
        bias(reals(s.out, random)),
        addend(reals(s.batch * s.out * output_size(sizes.window), random)),
        expected(addend.size()),
        axes(conv_axes(sizes.window)),
        blocked_x(blocked(x, s.batch, s.in)),
        blocked_addend(blocked(addend, s.batch, s.out)),
        blocked_y(blocked_addend.size()),
        activation{static_cast<Activation::Kind>(random() % 9), 0.25F, 0.75F} {}
  virtual ~FloatConvState() = default;
  virtual void compute(ThreadPool& pool) = 0;

  void run(ThreadPool& pool) {
    compute(pool);
    y = unblocked(blocked_y, sizes.batch, sizes.out_channels);
  }
  void reference() {
    conv_direct<double>(
        sizes, x.data(), w.data(), 0, sizes.rows(), [](float one) { return double{one}; },
        [](float one, std::int64_t) { return double{one}; },
        [&](double sum, std::int64_t c, std::int64_t i) {
          expected[at(i)] = activate(activation, sum + double{bias[at(c)]} + double{addend[at(i)]});
        });
  }
  std::string text() const {
    return std::to_string(sizes.in_channels) + " to " + std::to_string(sizes.out_channels) + " channels in " +
           std::to_string(sizes.groups) + " groups, " + std::to_string(sizes.window[1].input) + " x " +
           std::to_string(sizes.window[2].input) + ", kernel " + std::to_string(sizes.window[1].kernel) +
           ", stride " + std::to_string(sizes.window[1].stride) + ", activation " +
           std::to_string(static_cast<int>(activation.kind));
  }
  double operations() const {
    return 2.0 * static_cast<double>(expected.size()) * static_cast<double>(sizes.depth());
  }

  ConvSizes sizes;
  std::vector<float> x, w, bias, addend;  // [batch][channels][space], [outputs][inputs][taps]
  std::vector<double> expected;
  std::vector<float> y;
  ConvAxes axes;
  std::vector<float> blocked_x, blocked_addend, blocked_y;
  Activation activation;
};

struct DirectState : FloatConvState {
  DirectState(const Shape& s, std::mt19937& random)
      : FloatConvState(s, random), inputs(sizes.in_per_group()), outputs(sizes.out_per_group()) {
    const std::int64_t taps = kernel_size(sizes.window);
    panels.resize(at(conv_panels_size(s.groups, outputs, inputs, taps)));
    conv_panels({w.data(), outputs * inputs * taps, inputs * taps, taps}, axes, sizes.window, s.groups,
                outputs, inputs, panels.data());
    biases.resize(at(conv_bias_size(s.groups, outputs)));
    conv_bias(s.groups, outputs, bias.data(), biases.data());
  }
  FloatConvWork work() {
    FloatConvWork made;
    made.batch = sizes.batch;
    made.groups = sizes.groups;
    made.axes = &axes;
    made.in_blocks = channel_blocks(inputs);
    made.out_blocks = channel_blocks(outputs);
    made.x = blocked_x.data();
    made.block_stride = input_size(sizes.window) * 8;
    made.image_stride = channel_blocks(sizes.in_channels) * made.block_stride;
    made.weights = panels.data();
    made.bias = biases.data();
    made.y = blocked_y.data();
    made.addend = blocked_addend.data();
    made.activation = activation;
    return made;
  }
  void compute(ThreadPool& pool) override { conv_float(work(), pool); }

  std::int64_t inputs, outputs;
  std::vector<float> panels, biases;
};

// Results in the plain layout, without an addend.
struct PlainDirectState final : DirectState {
  PlainDirectState(const Shape& s, std::mt19937& random) : DirectState(s, random), plain(addend.size()) {
    std::ranges::fill(addend, 0.0F);
  }
  void compute(ThreadPool& pool) override {
    FloatConvWork made = work();
    made.y = nullptr, made.addend = nullptr;
    made.plain = plain.data();
    made.out_channels = outputs;
    conv_float(made, pool);
    blocked_y = blocked(plain, sizes.batch, sizes.out_channels);
  }
  std::vector<float> plain;
};

struct FloatWinogradState final : DirectState {
  FloatWinogradState(const Shape& s, std::mt19937& random)
      : DirectState(s, random), transformed(at(FloatWinogradWeights::bytes(s.out, s.in) / 4)) {
    FloatWinogradWeights::transform(s.out, s.in, w.data(), transformed.data());
  }
  void compute(ThreadPool& pool) override { conv_winograd_float({work(), transformed.data()}, pool); }
  std::vector<float> transformed;
};

struct FloatDepthwiseState : FloatConvState {
  FloatDepthwiseState(const Shape& s, std::mt19937& random)
      : FloatConvState(s, random),
        panels(at(channel_blocks(s.out) * 8 * kernel_size(sizes.window))),
        biases(at(conv_bias_size(1, s.out))) {
    depthwise_panels(s.out, kernel_size(sizes.window), w.data(), panels.data());
    conv_bias(1, s.out, bias.data(), biases.data());
  }
  FloatDepthwiseWork work() {
    return {.sizes = sizes,
            .x = blocked_x.data(),
            .weights = panels.data(),
            .bias = biases.data(),
            .y = blocked_y.data(),
            .addend = blocked_addend.data(),
            .activation = activation};
  }
  void compute(ThreadPool& pool) override { depthwise_float(work(), pool); }
  std::vector<float> panels, biases;
};

// The input, the results, or both in the plain layout.
struct PlainDepthwiseState final : FloatDepthwiseState {
  PlainDepthwiseState(const Shape& s, std::mt19937& random)
      : FloatDepthwiseState(s, random),
        plain(addend.size()),
        which(static_cast<std::uint32_t>(1 + random() % 3)) {
    if (which & 2) std::ranges::fill(addend, 0.0F);
  }
  void compute(ThreadPool& pool) override {
    FloatDepthwiseWork made = work();
    if (which & 1) made.x = nullptr, made.plain_x = x.data();
    if (which & 2) made.y = nullptr, made.addend = nullptr, made.plain_y = plain.data();
    depthwise_float(made, pool);
    if (which & 2) blocked_y = blocked(plain, sizes.batch, sizes.out_channels);
  }
  std::vector<float> plain;
  std::uint32_t which;
};

template <class State>
KernelCases float_convolutions(const std::vector<Shape>& shapes, double tolerance, std::mt19937& random) {
  KernelCases all = convolutions<State>(shapes, random);
  for (KernelCase& one : all) one.tolerance = tolerance;
  return all;
}

inline KernelCases of(const FloatConv&, bool large, std::mt19937& random) {
  if (large) {
    return float_convolutions<DirectState>(
        {{1, 64, 64, 1, 28, 28, 3, 2, 1}, {1, 128, 256, 1, 14, 14, 1, 1, 0}}, 1e-2, random);
  }
  const std::vector<Shape> shapes = {{1, 8, 8, 1, 5, 7, 3, 1, 1},    {2, 12, 20, 1, 9, 11, 3, 2, 1},
                                     {1, 40, 33, 1, 13, 6, 5, 1, 2}, {3, 16, 48, 2, 4, 4, 1, 1, 0},
                                     {1, 72, 24, 1, 6, 5, 4, 3, 3},  {1, 1, 1, 1, 1, 1, 1, 1, 0},
                                     {2, 9, 21, 1, 17, 19, 3, 1, 1}};
  return both(float_convolutions<DirectState>(shapes, 2e-4, random),
              float_convolutions<PlainDirectState>(shapes, 2e-4, random));
}
inline KernelCases of(const FloatWinograd&, bool large, std::mt19937& random) {
  if (large) return float_convolutions<FloatWinogradState>({{1, 64, 64, 1, 28, 28, 3, 1, 1}}, 1e-2, random);
  return float_convolutions<FloatWinogradState>({{1, 16, 16, 1, 12, 11, 3, 1, 1},
                                                 {2, 22, 24, 1, 7, 9, 3, 1, 0},
                                                 {1, 40, 17, 1, 15, 31, 3, 1, 2},
                                                 {3, 8, 40, 1, 3, 4, 3, 1, 1}},
                                                2e-4, random);
}
inline KernelCases of(const FloatDepthwise&, bool large, std::mt19937& random) {
  if (large) return float_convolutions<FloatDepthwiseState>({{1, 96, 96, 96, 56, 56, 3, 1, 1}}, 1e-3, random);
  const std::vector<Shape> shapes = {{1, 8, 8, 8, 5, 7, 3, 1, 1},     {2, 20, 20, 20, 9, 50, 5, 2, 2},
                                     {1, 17, 17, 17, 6, 41, 3, 2, 1}, {1, 9, 9, 9, 40, 45, 3, 1, 1},
                                     {2, 16, 16, 16, 8, 13, 5, 1, 0}, {1, 8, 8, 8, 3, 3, 7, 3, 5}};
  KernelCases all = float_convolutions<FloatDepthwiseState>(shapes, 2e-5, random);
  for (int i = 0; i < 3; ++i)
    all = both(std::move(all), float_convolutions<PlainDepthwiseState>(shapes, 2e-5, random));
  return all;
}

}  // namespace anybit::kernels::cases
