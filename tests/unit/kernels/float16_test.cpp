#include "kernels/elementwise/float16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace anybit::kernels {
namespace {

// All exponents, and significands at and beside every tie.
std::vector<float> hard_floats() {
  std::vector<float> all;
  for (std::uint32_t top = 0; top < 0x10000; ++top) {
    for (const std::uint32_t low :
         {0x0U, 0x1U, 0xFFFU, 0x1000U, 0x1001U, 0x8000U, 0x8FFFU, 0x9000U, 0x9001U, 0xFFFFU})
      all.push_back(std::bit_cast<float>(top << 16 | low));
  }
  return all;
}

TEST(Float16, RoundingThroughItIsConvertingThereAndBack) {
  const std::vector<float> x = hard_floats();
  std::vector<std::uint16_t> half(x.size());
  std::vector<float> wanted(x.size()), found(x);
  to_float16(x.data(), half.data(), x.size());
  from_float16(half.data(), wanted.data(), x.size());
  through_float16(found.data(), found.data(), found.size());  // in place
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(wanted[i]))
        << std::hexfloat << x[i];
}

}  // namespace
}  // namespace anybit::kernels
