#include "kernels/gemm/gemm_packed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "base/reproducible.hpp"
#include "formats/minifloat.hpp"
#include "kernels/instructions.hpp"

namespace anybit::kernels {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool is_power_of_two(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7FFFFF) == 0 && x > 0; }

// Integer multiples of the smallest value.
std::optional<CodeStorage> as_integers(std::span<const float> table) {
  CodeStorage storage{CodeKind::int8, {}, std::numeric_limits<float>::infinity()};
  for (const float x : table) {
    if (x != 0) storage.unit = std::min(storage.unit, std::fabs(x));
  }
  if (!is_power_of_two(storage.unit) || std::isinf(storage.unit)) return std::nullopt;
  const float largest = *std::ranges::max_element(table) / storage.unit;
  const float lowest = *std::ranges::min_element(table) / storage.unit;
  if (lowest < -128 || largest > 255 || (largest > 127 && lowest < 0)) return std::nullopt;
  if (largest > 127) storage.kind = CodeKind::uint8;
  for (const float x : table) {
    const float steps = x / storage.unit;
    if (steps != std::nearbyint(steps)) return std::nullopt;
    storage.stored.push_back(static_cast<std::uint8_t>(static_cast<int>(steps)));
  }
  return storage;
}

std::optional<CodeStorage> as_minifloats(std::span<const float> table, CodeKind kind) {
  const formats::MinifloatLayout& layout = kind == CodeKind::e4m3 ? formats::kE4m3 : formats::kE5m2;
  // e4m3 becomes a float16 with another exponent bias.
  CodeStorage storage{kind, {}, kind == CodeKind::e4m3 ? 256.0f : 1.0f};
  for (const float x : table) {
    const formats::Code16 code = layout.encode(x, true, formats::Rounding::half_even, 0);
    if (layout.decode(code) != x) return std::nullopt;
    storage.stored.push_back(static_cast<std::uint8_t>(code));
  }
  return storage;
}

// Whether there are at most sixteen codes, each an integer.
bool are_nibbles(std::span<const float> table, const CodeStorage& storage) {
  return table.size() <= 16 && storage.kind == CodeKind::int8;
}

std::optional<CodeStorage> storage_for(std::span<const float> table) {
  if (auto one = as_integers(table)) {
    if (are_nibbles(table, *one)) one->kind = CodeKind::nibbles;
    return one;
  }
  if (auto one = as_minifloats(table, CodeKind::e4m3)) return one;
  return as_minifloats(table, CodeKind::e5m2);
}

// NaN and Inf codes may decode as zero if no weight uses them.
std::vector<float> without_nans(std::span<const float> table) {
  std::vector<float> finite(table.begin(), table.end());
  for (float& x : finite) x = std::isfinite(x) ? x : 0.0f;
  return finite;
}

bool uses_nan(const CodeMatrix& from) {
  if (std::ranges::all_of(from.table, [](float x) { return std::isfinite(x); })) return false;
  std::vector<std::uint8_t> codes(at(from.k));
  for (std::int64_t c = 0; c < from.n; ++c) {
    from.column(c, codes.data());
    if (std::ranges::any_of(codes, [&](std::uint8_t code) { return !std::isfinite(from.table[code]); }))
      return true;
  }
  return false;
}

// Whether every weight is finite, and scaling by the unit never rounds.
bool fits(const CodeMatrix& from, std::span<const float> table, const CodeStorage& storage) {
  const float unit = storage.unit;
  float largest = 0;
  for (const float x : table) largest = std::max(largest, std::fabs(x));
  for (std::int64_t i = 0; i < from.n * from.blocks(); ++i) {
    const float factor = from.factors[i], zero = from.zeros ? std::fabs(from.zeros[i]) : 0.0f;
    if (!std::isfinite((largest + zero) * factor) || !std::isfinite(factor * unit)) return false;
    if (factor * unit / unit != factor || zero / unit * unit != zero) return false;
  }
  return true;
}

// Where the code of row `row` (0 … 7) and column `column` (0 … 15) of a group is stored.
struct Place {
  std::int64_t byte;
  int shift;
};
Place place_in_group(const CodeView& view, std::int64_t row, std::int64_t column) {
  switch (view.kind) {
    case CodeKind::nibbles:
      if (view.wide) return {column * 4 + row / 2, row % 2 == 0 ? 0 : 4};
      return {row / 4 * 32 + column / 4 % 2 * 16 + column / 8 * 8 + column % 4 * 2 + row % 2,
              row % 4 < 2 ? 0 : 4};
    case CodeKind::e4m3:
    case CodeKind::e5m2:
      return {(row / 2 * kPanel + column) * 2 + row % 2, 0};
    default:
      return {row * kPanel + column, 0};
  }
}

}  // namespace

bool CodeMatrix::has_kind(std::span<const float> table) {
  return !table.empty() && table.size() <= 256 && storage_for(without_nans(table));
}

std::optional<CodeStorage> integer_storage(const CodeMatrix& from) {
  if (from.table.empty() || from.table.size() > 256 || uses_nan(from)) return std::nullopt;
  const std::vector<float> table = without_nans(from.table);
  auto storage = as_integers(table);
  return storage && fits(from, table, *storage) ? storage : std::nullopt;
}

AlignedBytes zeroed_bytes(std::int64_t bytes) {
  AlignedBytes memory = aligned_bytes(bytes);
  std::memset(memory.get(), 0, at(bytes));
  return memory;
}

std::unique_ptr<const PackedCodes> PackedCodes::make(const CodeMatrix& from) {
  if (from.k <= 0 || from.n <= 0 || (from.block < kGroupRows && from.block < from.k)) return nullptr;
  if (from.table.empty() || from.table.size() > 256 || uses_nan(from)) return nullptr;
  const std::vector<float> table = without_nans(from.table);
  const auto storage = storage_for(table);
  if (!storage || !fits(from, table, *storage)) return nullptr;
  CodeMatrix finite = from;
  finite.table = table;
  return std::unique_ptr<const PackedCodes>(
      new PackedCodes(finite, storage->kind, storage->stored, storage->unit));
}

PackedCodes::PackedCodes(const CodeMatrix& from, CodeKind kind, std::span<const std::uint8_t> stored,
                         float unit)
    : codes_(nullptr, nullptr),
      factors_(nullptr, nullptr),
      zeros_(nullptr, nullptr),
      units_(nullptr, nullptr) {
  const std::int64_t panels = (from.n + kPanel - 1) / kPanel, blocks = from.blocks();
  view_ = {.kind = kind,
           .wide = kind == CodeKind::nibbles && usable(Instructions::avx512) && !reproducible(),
           .k = from.k,
           .n = from.n,
           .block = from.block,
           .blocks = blocks};
  const std::int64_t last = from.k - (blocks - 1) * from.block;
  view_.block_groups = (from.block + kGroupRows - 1) / kGroupRows;
  view_.groups = (blocks - 1) * view_.block_groups + (last + kGroupRows - 1) / kGroupRows;
  const bool looked_up = kind == CodeKind::nibbles;
  for (std::size_t i = 0; looked_up && i < stored.size(); ++i) {
    view_.values[i] = static_cast<float>(static_cast<std::int8_t>(stored[i]));
    const auto bits = std::bit_cast<std::uint32_t>(view_.values[i]);
    view_.lower[i] = static_cast<std::uint8_t>(bits >> 16);
    view_.upper[i] = static_cast<std::uint8_t>(bits >> 24);
  }
  codes_ = zeroed_bytes(panels * view_.groups * view_.group_bytes());
  factors_ = zeroed_bytes(panels * blocks * kPanel * 4);
  if (from.zeros) zeros_ = zeroed_bytes(panels * blocks * kPanel * 4);
  auto* codes = reinterpret_cast<std::uint8_t*>(codes_.get());
  auto* factors = reinterpret_cast<float*>(factors_.get());
  auto* zeros = reinterpret_cast<float*>(zeros_.get());
  std::vector<std::uint8_t> column(at(from.k));
  for (std::int64_t c = 0; c < from.n; ++c) {
    from.column(c, column.data());
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t to = (c / kPanel * blocks + b) * kPanel + c % kPanel;
      factors[to] = from.factors[c * blocks + b] * unit;
      if (zeros) zeros[to] = from.zeros[c * blocks + b] / unit;
      const std::int64_t first = b * from.block, end = std::min(first + from.block, from.k);
      std::uint8_t* group =
          codes + (c / kPanel * view_.groups + b * view_.block_groups) * view_.group_bytes();
      for (std::int64_t k = first; k < end; ++k) {
        const auto [byte, shift] = place_in_group(view_, (k - first) % kGroupRows, c % kPanel);
        std::uint8_t& place = group[(k - first) / kGroupRows * view_.group_bytes() + byte];
        const std::uint8_t code = column[at(k)];
        place = static_cast<std::uint8_t>(place | (looked_up ? code : stored[code]) << shift);
      }
    }
  }
  view_.codes = codes;
  view_.factors = factors;
  view_.zeros = zeros;
  find_units();
}

// Whether all factors are powers of two, and those of a column close enough that a change of units neither
// overflows nor loses bits.
bool PackedCodes::has_units() const {
  for (std::int64_t column = 0; column < view_.n; ++column) {
    const float* factors = view_.factors + column / kPanel * view_.blocks * kPanel + column % kPanel;
    float low = *factors, high = low;
    for (std::int64_t b = 0; b < view_.blocks; ++b) {
      const float x = factors[b * kPanel];
      if (!is_power_of_two(x)) return false;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    if (low < 0x1p-40f || high > 0x1p40f || high > low * 0x1p24f) return false;
  }
  return !view_.zeros;
}

void PackedCodes::find_units() {
  const std::int64_t panels = (view_.n + kPanel - 1) / kPanel, blocks = view_.blocks;
  if (!has_units()) return;
  units_ = aligned_bytes(panels * (blocks + 1) * kPanel * 4);
  auto* to = reinterpret_cast<float*>(units_.get());
  for (std::int64_t i = 0; i < panels * (blocks + 1) * kPanel; ++i) {
    const std::int64_t panel = i / ((blocks + 1) * kPanel), b = i / kPanel % (blocks + 1), c = i % kPanel;
    const auto factor = [&](std::int64_t block) {
      return view_.factors[(panel * blocks + block) * kPanel + c];
    };
    to[i] = b == 0 ? 1.0f : b == blocks ? factor(b - 1) : factor(b - 1) / factor(b);
    if (panel * kPanel + c >= view_.n) to[i] = 1;  // columns past the last
  }
  view_.units = to;
}

std::int64_t PackedCodes::bytes() const {
  const std::int64_t panels = (view_.n + kPanel - 1) / kPanel;
  return panels * (view_.groups * view_.group_bytes() +
                   view_.blocks * kPanel * 4 * (view_.zeros || view_.units ? 2 : 1));
}

}  // namespace anybit::kernels
