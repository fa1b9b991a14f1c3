// Float convolution: what the kernel list does not show. Infinity and NaN in Winograd's algorithm, its error,
// bits that do not depend on threads, batch or instructions, transposed convolution, few channels.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/conv/conv_few.hpp"
#include "unit/kernels/conv_float_cases.hpp"

namespace anybit::kernels {
namespace {

using cases::at;

constexpr unsigned kSeed = 20261119;

template <class State>
std::vector<float> result_of(State& state, int threads = 1) {
  ThreadPool pool(threads);
  std::ranges::fill(state.blocked_y, -1.0F);
  state.run(pool);
  return state.y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double rms(const std::vector<float>& y, const std::vector<double>& exact) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += (double{y[i]} - exact[i]) * (double{y[i]} - exact[i]);
  return std::sqrt(sum / static_cast<double>(y.size()));
}

// One float32 sum after another, by fused multiply-adds.
double error_of_plain_sums(const cases::DirectState& state) {
  std::vector<float> y(state.expected.size());
  const std::vector<float>& x = state.x;
  const std::int64_t channels = state.sizes.in_channels, side = state.sizes.window[1].input;
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    const std::int64_t o = i / (side * side), row = i / side % side, column = i % side;
    float sum = state.bias[at(o)];
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t k = 0; k < 9; ++k) {
        const std::int64_t h = row + k / 3 - 1, w = column + k % 3 - 1;
        if (h < 0 || h >= side || w < 0 || w >= side) continue;
        sum = std::fma(x[at((c * side + h) * side + w)], state.w[at((o * channels + c) * 9 + k)], sum);
      }
    }
    y[at(i)] = sum + state.addend[at(i)];
  }
  return rms(y, state.expected);
}

TEST(WinogradConv, ErrorIsWithinFourTimesThatOfDirectSummation) {
  for (const std::int64_t channels : {8, 16, 64, 256, 512}) {
    std::mt19937 random(kSeed);
    cases::FloatWinogradState state({1, channels, 8, 1, 16, 16, 3, 1, 1}, random);
    state.activation = {};
    state.reference();
    const double ours = rms(result_of(state), state.expected), plain = error_of_plain_sums(state);
    ThreadPool pool(1);
    conv_float(state.work(), pool);
    const double direct = rms(cases::unblocked(state.blocked_y, 1, 8), state.expected);
    EXPECT_LT(ours, 4 * plain) << channels << " channels, seed " << kSeed;
    EXPECT_LE(direct, 1.01 * plain) << channels << " channels";
  }
}

// An infinity or NaN reaches the results that depend on it, and no others.
TEST(WinogradConv, NonFiniteInputsGiveTheResultsOfDirectSummation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float special : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const Activation::Kind kind :
         {Activation::Kind::none, Activation::Kind::relu, Activation::Kind::silu}) {
      std::mt19937 random(kSeed);
      cases::FloatWinogradState state({1, 16, 24, 1, 11, 13, 3, 1, 1}, random);
      state.activation = {kind};
      state.blocked_x[at((4 * 13 + 5) * 8 + 3)] = special;
      state.x[at((3 * 11 + 4) * 13 + 5)] = special;
      const std::vector<float> y = result_of(state);
      ThreadPool pool(1);
      conv_float(state.work(), pool);
      const std::vector<float> direct = cases::unblocked(state.blocked_y, 1, 24);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (std::isfinite(direct[i])) {
          ASSERT_NEAR(y[i], direct[i], 1e-4) << i;
        } else {
          ASSERT_TRUE(std::isnan(direct[i]) ? std::isnan(y[i]) : y[i] == direct[i]) << i << ": " << y[i];
        }
      }
    }
  }
}

template <class State>
class EveryFloatConv : public testing::Test {};
using States = testing::Types<cases::DirectState, cases::FloatWinogradState>;
TYPED_TEST_SUITE(EveryFloatConv, States);

TYPED_TEST(EveryFloatConv, GivesTheSameBitsForAnyThreadsBatchAndInstructions) {
  std::mt19937 random(kSeed);
  TypeParam state({5, 24, 40, 1, 14, 9, 3, 1, 1}, random);
  const std::vector<float> y = result_of(state);
  EXPECT_TRUE(same_bits(y, result_of(state, 3)));
  if (usable(Instructions::avx2)) {
    use_at_most(Instructions::avx2);
    EXPECT_TRUE(same_bits(y, result_of(state)));
    use_at_most(kAllInstructions);
  }
  const std::size_t in = state.blocked_x.size() / 5, out = y.size() / 5;
  for (std::size_t n = 0; n < 5; ++n) {
    std::mt19937 again(kSeed);
    TypeParam one({1, 24, 40, 1, 14, 9, 3, 1, 1}, again);
    one.w = state.w, one.biases = state.biases, one.panels = state.panels, one.activation = state.activation;
    if constexpr (requires { one.transformed; }) one.transformed = state.transformed;
    std::copy_n(state.blocked_x.begin() + static_cast<std::ptrdiff_t>(n * in), in, one.blocked_x.begin());
    std::copy_n(state.blocked_addend.begin() + static_cast<std::ptrdiff_t>(n * out), out,
                one.blocked_addend.begin());
    const std::vector<float> alone = result_of(one);
    EXPECT_EQ(std::memcmp(alone.data(), y.data() + n * out, out * sizeof(float)), 0) << n;
  }
}

// Against the gradient of the forward convolution, spread out input by input.
TEST(TransposedConv, EqualsScatteringInputsOverTheOutput) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 40; ++round) {
    const auto some = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    Window window;
    for (std::size_t i = 1; i < 3; ++i) {
      WindowAxis& a = window[i];
      a.kernel = some(1, 4), a.stride = some(1, 3), a.dilation = some(1, 2), a.before = some(0, 2);
      a.output = some(1, 6);
      a.input = std::max<std::int64_t>(1, (a.output - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 -
                                              a.before - some(0, 1) + some(0, 2));
    }
    const std::int64_t in = some(1, 20), out = some(1, 20), taps = kernel_size(window);
    const std::int64_t space = output_size(window), out_space = input_size(window);
    const std::vector<float> x = cases::reals(in * space, random), w = cases::reals(in * out * taps, random);
    std::vector<double> expected(at(out * out_space));
    const auto& [d, h, c] = window;
    for (std::int64_t i = 0; i < in * out * space * taps; ++i) {
      const std::int64_t k = i % taps, s = i / taps % space, o = i / (taps * space) % out,
                         from = i / (taps * space * out);
      const std::int64_t y = start_of(h, s / c.output) + k / c.kernel * h.dilation;
      const std::int64_t z = start_of(c, s % c.output) + k % c.kernel * c.dilation;
      if (y < 0 || y >= h.input || z < 0 || z >= c.input) continue;
      expected[at((o * h.input + y) * c.input + z)] +=
          double{x[at(from * space + s)]} * double{w[at((from * out + o) * taps + k)]};
    }
    const std::vector<float> blocked_x = cases::blocked(x, 1, in);
    std::vector<float> y(at(channel_blocks(out) * 8 * out_space), std::numeric_limits<float>::quiet_NaN());
    const auto classes = transposed_classes(window);
    ThreadPool pool(1);
    for (const TransposedPhase& phase : transposed_phases(window)) {
      const ConvAxes& axes = classes[at(phase.tap_class)];
      std::vector<float> panels(at(
          conv_panels_size(1, out, in, std::ssize(axes[1].kernel_index) * std::ssize(axes[2].kernel_index))));
      conv_panels({w.data(), 0, taps, out * taps}, axes, window, 1, out, in, panels.data());
      FloatConvWork work;
      work.axes = &phase.axes;
      work.in_blocks = channel_blocks(in), work.out_blocks = channel_blocks(out);
      work.x = blocked_x.data();
      work.block_stride = space * 8;
      work.weights = panels.data();
      work.y = y.data();
      conv_float(work, pool);
    }
    const std::vector<float> plain = cases::unblocked(y, 1, out);
    for (std::size_t i = 0; i < plain.size(); ++i)
      ASSERT_NEAR(plain[i], expected[i], 1e-4) << "round " << round << ", seed " << kSeed;
  }
}

TEST(FewChannelConv, EqualsDirectLoops) {
  std::mt19937 random(kSeed);
  for (const cases::Shape& s : {cases::Shape{2, 3, 20, 1, 13, 9, 7, 2, 3},
                                {1, 1, 8, 1, 6, 30, 5, 3, 0},
                                {1, 7, 40, 1, 5, 4, 3, 1, 1},
                                {1, 2, 16, 1, 3, 3, 3, 1, 4}}) {
    cases::DirectState state(s, random);
    state.activation = {};
    state.reference();
    ASSERT_TRUE(has_few_channels(state.sizes));
    const ConvAxes axes = few_axes(state.sizes.window);
    std::vector<float> copy(at(s.batch * few_size(state.sizes))), panels(at(few_panels_size(state.sizes)));
    ThreadPool pool(2);
    const std::int64_t space = s.height * s.width;
    few_copy(state.sizes, {state.x.data(), s.in * space, space, 1}, nullptr, copy.data(), pool);
    few_panels(state.sizes, state.w.data(), panels.data());
    FloatConvWork work = state.work();
    work.axes = &axes;
    work.in_blocks = 1;
    work.x = copy.data();
    work.image_stride = few_size(state.sizes);
    work.pixel = s.in, work.run = s.in * s.kernel;
    work.weights = panels.data();
    conv_float(work, pool);
    const std::vector<float> y = cases::unblocked(state.blocked_y, s.batch, s.out);
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], state.expected[i], 1e-4) << state.text();
  }
}

}  // namespace
}  // namespace anybit::kernels
