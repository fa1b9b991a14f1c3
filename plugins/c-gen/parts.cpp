#include "parts.hpp"

#include <algorithm>
#include <bit>

namespace anybit::cgen {
namespace {

constexpr std::int64_t kMost = 4;  // more parts would be slower than 64-bit accumulators

// The lower parts are signed, so that they are small: -2^(bits - 1) … 2^(bits - 1) - 1.
constexpr std::string_view kSplitParts =
    R"(ALONE static void split_shorts(int16_t *numbers, int32_t count, int32_t parts, int32_t bits) {
  const int32_t whole = 1 << bits, half = whole / 2;
  for (int32_t p = 1; p < parts; ++p, numbers += count) {
    int16_t *restrict low = numbers, *restrict rest = numbers + count;
    for (int32_t i = 0; i < count; ++i) {
      const int32_t part = ((low[i] + half) & (whole - 1)) - half;
      rest[i] = (int16_t)((low[i] - part) / whole);
      low[i] = (int16_t)part;
    }
  }
})";

}  // namespace

std::string Parts::sum(std::string_view sums, std::int64_t apart, std::string_view index) const {
  std::string text = fmt::format("(int64_t){}[{}]", sums, index);
  for (std::int64_t i = 1; i < count; ++i)
    text +=
        fmt::format(" + (int64_t){}[{} + {}] * {}", sums, i * apart, index, std::int64_t{1} << (bits * i));
  return text;
}

std::string Parts::name() const { return fmt::format("{}x{}", count, bits); }

std::optional<Parts> parts_for(std::int64_t largest, std::int64_t factors) {
  if (largest * factors <= INT32_MAX) return Parts{};
  const auto bits = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(largest - 1))) + 1;
  for (std::int64_t count = 2; count <= kMost; ++count) {
    const Parts parts{count, (bits + count - 1) / count};
    const std::int64_t low = std::int64_t{1} << (parts.bits - 1),
                       high = (largest >> (parts.bits * (count - 1))) + 1;
    if (std::max(low, high) * factors <= INT32_MAX) return parts;
  }
  return std::nullopt;
}

void emit_split(Node& node, const Parts& parts, const std::string& numbers, std::int64_t count) {
  if (parts.count == 1) return;
  node.helper("split_shorts", kSplitParts);
  node.line("split_shorts({}, {}, {}, {});", numbers, count, parts.count, parts.bits);
}

}  // namespace anybit::cgen
