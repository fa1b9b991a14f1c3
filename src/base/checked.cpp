#include "base/checked.hpp"

#include <algorithm>

namespace anybit {

std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims) {
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; })) return std::nullopt;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::int64_t count = 1;
  for (std::int64_t dim : dims) {
    const auto product = checked_mul(count, dim);
    if (!product) return std::nullopt;
    count = *product;
  }
  return count;
}

std::optional<std::int64_t> packed_bytes(std::int64_t count, int bits) {
  const auto total = checked_mul<std::int64_t>(count, bits);
  if (!total) return std::nullopt;
  return *total / 8 + (*total % 8 != 0);
}

}  // namespace anybit
