#include "narrowing.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace anybit::cli {
namespace {

template <class Number>
Narrowing compared(const Array& array, std::span<const float> values) {
  Narrowing result{.from = array.type};
  for (std::size_t i = 0; i < values.size(); ++i) {
    Number number;
    std::memcpy(&number, array.bytes.data() + i * sizeof number, sizeof number);
    const auto exact = static_cast<long double>(number);  // a double would round 64-bit integers, too
    if (exact == values[i] || std::isnan(exact)) continue;
    ++result.changed;
    if (values[i] == 0) ++result.flushed;
    if (!std::isinf(values[i])) {
      result.largest_change =
          std::max(result.largest_change, static_cast<double>(std::fabs(exact - values[i])));
    } else if (result.infinite_at < 0) {
      result.infinite_at = static_cast<std::int64_t>(i);
      result.infinite = static_cast<double>(exact);
    }
  }
  return result;
}

}  // namespace

Narrowing narrowing_of(const Array& array, std::span<const float> values) {
  if (array.type == "float64") return compared<double>(array, values);
  if (array.type == "int32") return compared<std::int32_t>(array, values);
  if (array.type == "uint32") return compared<std::uint32_t>(array, values);
  if (array.type == "int64") return compared<std::int64_t>(array, values);
  if (array.type == "uint64") return compared<std::uint64_t>(array, values);
  return {.from = array.type};  // float32 represents all values of the other types
}

}  // namespace anybit::cli
