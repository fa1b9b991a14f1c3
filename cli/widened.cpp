#include "widened.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "anybit/formats.hpp"

namespace anybit::cli {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

// The type's name, and the format's.
constexpr std::array kFloats = {Names{"bfloat16", "bfloat16"},
                                Names{"float8_e4m3fn", "fp8_e4m3"},
                                Names{"float8_e4m3fnuz", "fp8_e4m3fnuz"},
                                Names{"float8_e5m2", "fp8_e5m2"},
                                Names{"float8_e5m2fnuz", "fp8_e5m2fnuz"},
                                Names{"float8_e8m0fnu", "fp8_e8m0"},
                                Names{"float4_e2m1fn", "fp4_e2m1"}};

// A code takes a byte, or two; those of fewer bits a byte each.
Result<Array> as_floats(const Array& array, std::string_view name) {
  std::int64_t count = 1;
  for (const std::int64_t size : array.dims) count *= size;
  const auto format = TensorFormat::make(name, {count});
  if (!format.ok()) return format.error();
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(count));
  std::vector<float> values(codes.size());
  const std::size_t width = format->bits() > 8 ? 2 : 1;
  for (std::size_t i = 0; i < codes.size(); ++i)
    std::memcpy(&codes[i], array.bytes.data() + i * width, width);
  if (auto done = format->decode(codes, {}, values); !done.ok()) return std::move(done).error();
  return Array::from_floats(std::move(values), array.dims);
}

}  // namespace

Result<Array> widened(const Array& array) {
  for (const auto& [type, format] : kFloats) {
    if (array.type == type) return as_floats(array, format);
  }
  Array same = array;
  if (array.type == "int4" || array.type == "int2") same.type = "int8";
  if (array.type == "uint4" || array.type == "uint2") same.type = "uint8";
  return same;
}

}  // namespace anybit::cli
