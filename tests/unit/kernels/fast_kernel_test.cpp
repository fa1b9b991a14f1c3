// Every fast kernel gives the scalar codec's bits, on every SIMD target of this machine, for every format.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "formats/float_bits.hpp"
#include "formats/grouping.hpp"
#include "hwy/targets.h"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

using formats::Code16;

// Values around every decision: values of the format, midpoints, their neighbours, powers of two, specials,
// noise.
std::vector<float> hard_values(const formats::Codec& codec, unsigned seed) {
  std::vector<float> x;
  const auto with_neighbours = [&](float v) {
    for (float sign : {1.0f, -1.0f}) {
      x.push_back(sign * v);
      x.push_back(sign * std::nextafter(v, formats::kInfinity));
      x.push_back(sign * std::nextafter(v, -formats::kInfinity));
    }
  };
  for (int e = -149; e <= 127; ++e) with_neighbours(formats::power_of_two(e));
  for (float v :
       {0.0f, 1.5f, 2.5f, 3.5f, 0.75f, 1.41421354f, 1.41421366f, 448.0f, 464.0f, 3.4e38f, 126.5f, 127.5f})
    with_neighbours(v);
  if (codec.words(1) == 0 && codec.bits() <= 10) {
    std::vector<Code16> codes(std::size_t{1} << codec.bits());
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<Code16>(i);
    std::vector<float> values(codes.size());
    codec.decode(codes, {}, values.data());
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      with_neighbours(values[i]);
      with_neighbours(
          static_cast<float>((static_cast<double>(values[i]) + static_cast<double>(values[i + 1])) / 2));
    }
  }
  for (float v : {formats::kInfinity, -formats::kInfinity, formats::kNan, -formats::kNan}) x.push_back(v);
  std::mt19937 random(seed);
  for (int i = 0; i < 4000; ++i) x.push_back(formats::float_of(static_cast<std::uint32_t>(random())));
  std::normal_distribution<float> normal;
  for (int i = 0; i < 4000; ++i) x.push_back(normal(random) * (i % 3 == 0 ? 100.0f : 0.01f));
  return x;
}

// Runs with their own scale, mostly near 1, full of midpoints between codes and zeros, with an occasional NaN
// or infinity.
std::vector<float> ties(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<int>(random() % n); };
  std::vector<float> x;
  for (int stretch = 0; stretch < 600; ++stretch) {
    const int exponent = stretch % 8 == 0 ? below(277) - 149 : below(20) - 10, bits = below(12);
    for (int i = 0; i < 16; ++i) {
      const float v = std::ldexp(static_cast<float>(below(1u << bits)), exponent - bits);
      x.push_back(below(2) == 0 ? v : -v);
    }
    if (below(50) == 0) x.back() = below(2) == 0 ? formats::kInfinity : -formats::kNan;
  }
  return x;
}

// NaNs are equal: their payload is unspecified.
::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b,
                                     std::span<const float> x) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (formats::bits_of(a[i]) == formats::bits_of(b[i]) || (formats::is_nan(a[i]) && formats::is_nan(b[i])))
      continue;
    return ::testing::AssertionFailure()
           << "at " << i << ": x = " << (x.empty() ? 0 : x[i]) << std::hexfloat << " ("
           << (x.empty() ? 0 : x[i]) << "): scalar " << a[i] << ", fast " << b[i];
  }
  return ::testing::AssertionSuccess();
}

struct Case {
  std::string name;
  formats::Values values;
  formats::Rounding asked = formats::Rounding::half_even;
};

void compare(const Case& test, std::size_t size, std::span<const float> x) {
  const auto codec = formats::make(test.name, test.values);
  ASSERT_TRUE(codec.ok()) << codec.error().text();
  const auto rounding = (*codec)->rounding(test.asked);
  const auto plain = plain_kernel(*codec, rounding), fast = kernel_for(*codec, rounding);
  const Groups shape{size, x.size() / size,
                     static_cast<std::size_t>((*codec)->words(static_cast<std::int64_t>(size)))};
  const std::size_t n = shape.count();
  std::vector<std::uint32_t> words(shape.groups * shape.stride, 0);
  if (shape.stride > 0) (*codec)->choose_for_tensor(x.first(n), std::span(words).first(shape.stride));
  for (std::size_t g = 1; g < shape.groups && shape.stride > 0; ++g) {
    std::memcpy(words.data() + g * shape.stride, words.data(), shape.stride * 4);
  }
  const std::vector<std::uint32_t> start = words;
  std::vector<std::uint32_t> fast_words = words;
  plain->choose(shape, x.data(), words.data());
  fast->choose(shape, x.data(), fast_words.data());
  ASSERT_EQ(words, fast_words);
  std::vector<float> a(n), b(n);
  plain->quantize(shape, x.data(), words.data(), nullptr, a.data());
  fast->quantize(shape, x.data(), words.data(), nullptr, b.data());
  ASSERT_TRUE(same_bits(a, b, x));
  std::vector<std::uint32_t> words_at_once = start;
  fast->choose_and_quantize(shape, x.data(), words_at_once.data(), nullptr, b.data());
  ASSERT_EQ(words, words_at_once);
  ASSERT_TRUE(same_bits(a, b, x)) << "at once";
  if (!(*codec)->packable().ok()) return;
  std::vector<Code16> plain_codes(n), fast_codes(n);
  plain->encode(shape, x.data(), words.data(), nullptr, plain_codes.data());
  fast->encode(shape, x.data(), words.data(), nullptr, fast_codes.data());
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(plain_codes[i], fast_codes[i]) << "x = " << x[i] << " at " << i;
  if ((*codec)->bits() <= 8) {
    std::vector<std::uint8_t> narrow(n);
    fast->encode(shape, x.data(), words.data(), nullptr, narrow.data());
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(plain_codes[i], narrow[i]) << "x = " << x[i] << " at " << i;
    words_at_once = start;
    std::fill(narrow.begin(), narrow.end(), std::uint8_t{0xFF});
    fast->choose_and_encode(shape, x.data(), words_at_once.data(), nullptr, narrow.data());
    ASSERT_EQ(words, words_at_once);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(plain_codes[i], narrow[i]) << "at once: x = " << x[i] << " at " << i;
    plain->decode(shape, plain_codes.data(), words.data(), a.data());
    fast->decode(shape, narrow.data(), words.data(), b.data());
    ASSERT_TRUE(same_bits(a, b, {}));
    // Every code, including those that encoding never produces.
    std::mt19937 random(7);
    for (std::size_t i = 0; i < n; ++i) {
      plain_codes[i] = static_cast<Code16>(random() & ((1u << (*codec)->bits()) - 1));
      narrow[i] = static_cast<std::uint8_t>(plain_codes[i]);
    }
    plain->decode(shape, plain_codes.data(), words.data(), a.data());
    fast->decode(shape, narrow.data(), words.data(), b.data());
    ASSERT_TRUE(same_bits(a, b, {}));
  }
  plain->decode(shape, plain_codes.data(), words.data(), a.data());
  fast->decode(shape, plain_codes.data(), words.data(), b.data());
  ASSERT_TRUE(same_bits(a, b, {}));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const formats::Descriptor* one : formats::table()) {
    all.push_back({std::string(one->name), {}});
    if (one->granularity == formats::Granularity::block) {
      all.push_back({std::string(one->name), {}, formats::Rounding::half_away});
      all.push_back({std::string(one->name), {}, formats::Rounding::half_up});
    }
    for (const formats::Parameter& parameter : one->parameters) {
      if (const auto* flag = std::get_if<bool>(&parameter.preset)) {
        all.push_back({std::string(one->name), {{std::string(parameter.name), !*flag}}});
      }
      for (std::string_view choice : parameter.choices) {
        const formats::Values values = {{std::string(parameter.name), std::string(choice)}};
        all.push_back({std::string(one->name), values});
        if (!choice.starts_with("quark")) continue;  // these have kernels for more roundings
        all.push_back({std::string(one->name), values, formats::Rounding::half_away});
        all.push_back({std::string(one->name), values, formats::Rounding::half_up});
      }
    }
  }
  return all;
}

class EveryTarget : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(EveryTarget, GivesTheScalarCodecsBits) {
  hwy::SetSupportedTargetsForTest(GetParam());
  unsigned seed = 20261115;
  for (const Case& test : cases()) {
    const auto codec = formats::make(test.name, test.values);
    if (!codec.ok()) continue;  // a choice that requires another one
    SCOPED_TRACE(test.name +
                 (test.values.empty() ? ""
                                      : " " + test.values.begin()->first + "=" +
                                            formats::to_string(test.values.begin()->second)) +
                 ", " + std::string(name_of(test.asked)) + ", seed " + std::to_string(seed));
    std::vector<float> x = hard_values(**codec, seed++);
    for (std::size_t size : {std::size_t{1}, std::size_t{5}, std::size_t{8}, std::size_t{16}, std::size_t{32},
                             std::size_t{33}, x.size()}) {
      compare(test, size, x);
      if (HasFatalFailure()) break;
    }
    // Without specials, blocks keep normal scales.
    std::erase_if(
        x, [](float v) { return !formats::is_finite(v) || std::fabs(v) > 1e4f || std::fabs(v) < 1e-4f; });
    for (std::size_t size : {std::size_t{32}, std::size_t{13}, x.size()}) compare(test, size, x);
    x = ties(seed++);
    for (std::size_t size : {std::size_t{8}, std::size_t{16}, std::size_t{32}, std::size_t{64}}) {
      compare(test, size, x);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

INSTANTIATE_TEST_SUITE_P(Simd, EveryTarget, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace anybit::kernels
