// Integer inputs and outputs of a quantized model.
#include "device/grid.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace anybit {
namespace {

using graph::ElementType;

constexpr float kScales[] = {1.0f,          0.1f,    1.0f / 3,       0.0078125f,
                             3.1415927e-5f, 7.7e12f, 1.1754944e-38f, 1e-44f};

// Every integer dequantizes and quantizes back to itself. This makes integer inputs and outputs exact.
template <class T>
void every_code_survives(ElementType type, std::int32_t zero_point) {
  constexpr std::int32_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  std::vector<T> quantized;
  for (std::int32_t code = kLow; code <= kHigh; ++code) quantized.push_back(static_cast<T>(code));
  for (const float scale : kScales) {
    const Grid grid{type, scale, zero_point};
    std::vector<float> values(quantized.size());
    from_quantized(reinterpret_cast<const std::byte*>(quantized.data()), grid, values);
    EXPECT_EQ(values[static_cast<std::size_t>(zero_point - kLow)], 0.0f);
    // Unaligned, as a caller's buffer may be.
    std::vector<std::byte> bytes(quantized.size() * sizeof(T) + 1);
    to_quantized(values, grid, bytes.data() + 1);
    EXPECT_EQ(std::memcmp(bytes.data() + 1, quantized.data(), quantized.size() * sizeof(T)), 0)
        << "scale " << scale << ", zero point " << zero_point;
  }
}

TEST(DeviceGrid, EveryIntegerSurvivesARoundTrip) {
  for (const std::int32_t zero : {0, 1, 128, 255})
    every_code_survives<std::uint8_t>(ElementType::uint8, zero);
  for (const std::int32_t zero : {-128, 0, 127}) every_code_survives<std::int8_t>(ElementType::int8, zero);
  every_code_survives<std::int16_t>(ElementType::int16, 0);
  every_code_survives<std::uint16_t>(ElementType::uint16, 65535);
}

TEST(DeviceGrid, ValuesBeyondTheRangeSaturate) {
  const Grid grid{ElementType::uint8, 0.5f, 10};
  const float values[] = {-1e30f, -5.25f, -5.0f, 0.0f, 0.25f, 0.75f, 122.5f, 1e30f};
  std::uint8_t quantized[8];
  to_quantized(values, grid, reinterpret_cast<std::byte*>(quantized));
  const std::uint8_t expected[] = {0, 0, 0, 10, 10, 12, 255, 255};
  EXPECT_EQ(std::memcmp(quantized, expected, sizeof quantized), 0);
}

}  // namespace
}  // namespace anybit
