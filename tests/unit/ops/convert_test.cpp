// Vectorized float16 and bfloat16 conversion against the scalar one, on every SIMD target.
#include "ops/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "hwy/highway.h"
#include "hwy/targets.h"

namespace anybit::ops {
namespace {

constexpr unsigned kSeed = 20261117;

class Float16OnEveryTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

template <class Half>
std::vector<Half> all_float16() {
  std::vector<Half> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
  return all;
}

// Every half, its neighbours, the midpoint to the next half with its neighbours, and random bits.
template <class Half>
std::vector<float> critical_floats() {
  std::mt19937 random(kSeed);
  std::vector<float> values;
  for (const Half half : all_float16<Half>()) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(half));
    const std::uint32_t middle = std::is_same_v<Half, Float16> ? 0x1000 : 0x8000;
    for (const std::uint32_t near : {bits, bits + 1, bits - 1, bits + middle, bits + middle + 1,
                                     bits + middle - 1, static_cast<std::uint32_t>(random())})
      values.push_back(std::bit_cast<float>(near));
  }
  // Also the midpoints between subnormals of float16.
  for (int i = 0; i < 2048; ++i)
    values.push_back(static_cast<float>(i) * 0x1p-25f * (i % 2 == 0 ? 1.0f : -1.0f));
  return values;
}

template <class Half>
void check_both_ways(ElementType type) {
  const std::vector<float> values = critical_floats<Half>();
  std::vector<Half> float16s(values.size());
  ASSERT_TRUE(convert(ElementType::float32, reinterpret_cast<const std::byte*>(values.data()), type,
                      reinterpret_cast<std::byte*>(float16s.data()), std::ssize(values)));
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(float16s[i].bits, Half(values[i]).bits)
        << std::bit_cast<std::uint32_t>(values[i]) << ", seed " << kSeed;
  const std::vector<Half> all = all_float16<Half>();
  std::vector<float> wide(all.size());
  ASSERT_TRUE(convert(type, reinterpret_cast<const std::byte*>(all.data()), ElementType::float32,
                      reinterpret_cast<std::byte*>(wide.data()), std::ssize(all)));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(static_cast<float>(all[i])))
        << i;
}

TEST_P(Float16OnEveryTarget, MatchTheScalarConversion) {
  check_both_ways<Float16>(ElementType::float16);
  check_both_ways<BFloat16>(ElementType::bfloat16);
}

INSTANTIATE_TEST_SUITE_P(Convert, Float16OnEveryTarget,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()));

}  // namespace
}  // namespace anybit::ops
