#include "widened.hpp"

#include <cstring>
#include <utility>

#include "anybit/formats.hpp"

namespace anybit::cli {
namespace {

// The number format of a small float type; empty for other types.
Result<std::string> small_float(const std::string& type) {
  if (type == "float16") return std::string();
  auto formats = list_formats();
  if (!formats.ok()) return std::move(formats).error();
  for (FormatInfo& one : *formats) {
    if (one.float_type == type) return std::move(one.name);
  }
  return std::string();
}

// Each code takes one or two bytes; types of fewer than 8 bits are unpacked.
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
  const auto format = small_float(array.type);
  if (!format.ok()) return format.error();
  if (!format->empty()) return as_floats(array, *format);
  Array same = array;
  if (array.type == "int4" || array.type == "int2") same.type = "int8";
  if (array.type == "uint4" || array.type == "uint2") same.type = "uint8";
  return same;
}

}  // namespace anybit::cli
