// Strided copies against the definition, element by element.
#include "kernels/move/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace anybit::kernels {
namespace {

// Distinct elements: counting up with wraparound, or the number as text.
template <class T>
T numbered(std::size_t i) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::to_string(i);
  } else {
    return static_cast<T>(i * 7 + 1);
  }
}

template <class T>
std::vector<T> by_definition(std::span<const CopyAxis> axes, const std::vector<T>& from, std::size_t size) {
  std::vector<T> to(size);
  std::int64_t count = 1;
  for (const CopyAxis& axis : axes) count *= axis.size;
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t rest = index, from_at = 0, to_at = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
      from_at += rest % axes[i].size * axes[i].from;
      to_at += rest % axes[i].size * axes[i].to;
      rest /= axes[i].size;
    }
    to[static_cast<std::size_t>(to_at)] = from[static_cast<std::size_t>(from_at)];
  }
  return to;
}

// Axes of random sizes; the source has them in another order, some with gaps.
std::vector<CopyAxis> random_axes(std::mt19937& random) {
  const std::size_t rank = 1 + random() % 4;
  std::vector<CopyAxis> axes(rank);
  for (CopyAxis& axis : axes) axis.size = 1 + static_cast<std::int64_t>(random() % (rank < 3 ? 90 : 12));
  std::int64_t step = 1;
  for (std::size_t i = rank; i-- > 0; step *= axes[i].size) axes[i].to = step;
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  step = 1;
  for (const std::size_t i : order) {
    axes[i].from = random() % 8 == 0 ? 0 : step;
    step *= axes[i].size;
  }
  return axes;
}

template <class T>
class EveryMovedType : public testing::Test {};
using MovedTypes = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::string>;
TYPED_TEST_SUITE(EveryMovedType, MovedTypes);

TYPED_TEST(EveryMovedType, StridedCopiesAreAsDefined) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<CopyAxis> axes = random_axes(random);
    std::size_t size = 1;
    for (const CopyAxis& axis : axes) size *= static_cast<std::size_t>(axis.size);
    std::vector<TypeParam> from(size), to(size);
    for (std::size_t i = 0; i < size; ++i) from[i] = numbered<TypeParam>(i);
    const StridedCopy copy(axes);
    for (std::int64_t part = copy.parts(); part-- > 0;) copy.run(from.data(), to.data(), part, part + 1);
    ASSERT_EQ(to, by_definition<TypeParam>(axes, from, size));
  }
}

TEST(StridedCopy, SupportsNegativeStrides) {
  const std::vector<std::uint32_t> from{1, 2, 3, 4, 5, 6};
  std::vector<std::uint32_t> to(3);
  const CopyAxis axis{3, -2, 1};
  const StridedCopy copy(std::span(&axis, 1));
  copy.run(from.data() + 5, to.data(), 0, copy.parts());
  EXPECT_EQ(to, (std::vector<std::uint32_t>{6, 4, 2}));
}

TEST(StridedCopy, AnEmptyCopyHasNoParts) {
  const CopyAxis axes[] = {{3, 0, 0}, {0, 1, 1}};
  EXPECT_EQ(StridedCopy(axes).parts(), 0);
}

}  // namespace
}  // namespace anybit::kernels
