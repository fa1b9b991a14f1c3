#include "kernels/gemm/gemm_dynamic_int8.hpp"

#include <algorithm>
#include <cstring>

namespace anybit::kernels {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

int number_of(const CodeStorage& storage, std::uint8_t stored) {
  return storage.kind == CodeKind::uint8 ? stored : static_cast<std::int8_t>(stored);
}

// Where the number of a row (0 … 15) and column (0 … 15) of a group is stored.
struct Place {
  std::int64_t byte;
  int shift;
};
Place place_in_group(NumberKind kind, std::int64_t row, std::int64_t column) {
  const std::int64_t dot4_group = row / 4, in = column * 4 + row % 4;
  if (kind == NumberKind::bytes) return {dot4_group * 4 * kPanel + in, 0};
  return {dot4_group / 2 * 4 * kPanel + in, dot4_group % 2 == 0 ? 0 : 4};
}

// With magnitudes up to 32, four products with magnitudes up to 127 fit a sum of 16 bits.
constexpr int kLargestInTable = 32;

}  // namespace

std::unique_ptr<const DynamicInt8Weights> DynamicInt8Weights::make(const CodeMatrix& from) {
  if (from.k <= 0 || from.n <= 0 || (from.block < kDot4Group && from.block < from.k)) return nullptr;
  const auto storage = integer_storage(from);
  return std::unique_ptr<const DynamicInt8Weights>(storage ? new DynamicInt8Weights(from, *storage)
                                                           : nullptr);
}

// Numbers are offset so that nibbles start at zero and bytes are signed.
void DynamicInt8Weights::find_kind(const CodeStorage& storage) {
  std::vector<int> numbers;
  for (const std::uint8_t one : storage.stored) numbers.push_back(number_of(storage, one));
  const auto [low, high] = std::ranges::minmax(numbers);
  if (numbers.size() > 16 || high - low > kLargestInTable) {
    view_.kind = NumberKind::bytes;
    view_.offset = storage.kind == CodeKind::uint8 ? -128 : 0;
    return;
  }
  view_.kind = high - low < 16 ? NumberKind::nibbles : NumberKind::table;
  view_.offset = -low;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    view_.table[i] = static_cast<std::uint8_t>(numbers[i] - low);
}

void DynamicInt8Weights::find_runs() {
  for (std::int64_t b = 0; b < view_.blocks; ++b) {
    const std::int64_t end = std::min((b + 1) * view_.block, view_.k);
    for (std::int64_t k = b * view_.block; k < end; k += kRunRows) {
      const std::int64_t count = std::min(kRunRows, end - k);
      runs_.push_back({k, count, (count + kDot4Group - 1) / kDot4Group, b});
      view_.groups += runs_.back().groups;
    }
  }
  view_.runs = runs_;
}

DynamicInt8Weights::DynamicInt8Weights(const CodeMatrix& from, const CodeStorage& storage)
    : codes_(nullptr, nullptr), factors_(nullptr, nullptr), zeros_(nullptr, nullptr) {
  const std::int64_t panels = (from.n + kPanel - 1) / kPanel, blocks = from.blocks();
  view_ = {.k = from.k, .n = from.n, .block = from.block, .blocks = blocks};
  find_kind(storage);
  find_runs();
  codes_ = zeroed_bytes(panels * view_.groups * view_.group_bytes());
  factors_ = zeroed_bytes(panels * blocks * kPanel * 4);
  if (from.zeros) zeros_ = zeroed_bytes(panels * blocks * kPanel * 4);
  auto* codes = reinterpret_cast<std::uint8_t*>(codes_.get());
  auto* factors = reinterpret_cast<float*>(factors_.get());
  auto* zeros = reinterpret_cast<float*>(zeros_.get());
  std::vector<std::uint8_t> column(at(from.k));
  const auto stored = [&](std::uint8_t code) {
    if (view_.kind == NumberKind::table) return code;
    if (view_.kind == NumberKind::nibbles) return view_.table[code];
    return static_cast<std::uint8_t>(number_of(storage, storage.stored[code]) + view_.offset);
  };
  for (std::int64_t c = 0; c < from.n; ++c) {
    from.column(c, column.data());
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t to = (c / kPanel * blocks + b) * kPanel + c % kPanel;
      factors[to] = from.factors[c * blocks + b] * storage.unit;
      if (zeros) zeros[to] = from.zeros[c * blocks + b] / storage.unit;
    }
    std::uint8_t* group = codes + c / kPanel * view_.groups * view_.group_bytes();
    for (const Run& run : runs_) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        const auto [byte, shift] = place_in_group(view_.kind, i % kDot4Group, c % kPanel);
        std::uint8_t& place = group[i / kDot4Group * view_.group_bytes() + byte];
        place = static_cast<std::uint8_t>(place | stored(column[at(run.first + i)]) << shift);
      }
      group += run.groups * view_.group_bytes();
    }
  }
  view_.codes = codes;
  view_.factors = factors;
  view_.zeros = zeros;
}

// The dequantized weights, for a GEMM whose rows of A are not in memory one by one.
const float* DynamicInt8Weights::panel(std::int64_t index, std::int64_t k, std::int64_t count,
                                       float* scratch) const {
  const std::int64_t block_groups = (view_.block + kDot4Group - 1) / kDot4Group;
  for (std::int64_t i = 0; i < count * kPanel; ++i) {
    const std::int64_t row = k + i / kPanel, block = row / view_.block, in = row % view_.block;
    const std::int64_t group = index * view_.groups + block * block_groups + in / kDot4Group;
    const auto [byte, shift] = place_in_group(view_.kind, in % kDot4Group, i % kPanel);
    const std::uint8_t stored = view_.codes[group * view_.group_bytes() + byte];
    int number = static_cast<std::int8_t>(stored);
    if (view_.kind != NumberKind::bytes) number = stored >> shift & 15;
    if (view_.kind == NumberKind::table) number = view_.table[number];
    const std::int64_t scale = (index * view_.blocks + block) * kPanel + i % kPanel;
    const float zero = view_.zeros ? view_.zeros[scale] : 0.0f;
    scratch[i] = (static_cast<float>(number - view_.offset) - zero) * view_.factors[scale];
  }
  return scratch;
}

std::int64_t DynamicInt8Weights::bytes() const {
  const std::int64_t panels = (view_.n + kPanel - 1) / kPanel;
  return panels * (view_.groups * view_.group_bytes() + view_.blocks * kPanel * 4 * (view_.zeros ? 2 : 1));
}

std::unique_ptr<const FloatRhs> pack_codes(const CodeMatrix& from, bool rounded) {
  std::unique_ptr<const FloatRhs> packed;
  if (rounded) packed = DynamicInt8Weights::make(from);
  return packed ? std::move(packed) : PackedCodes::make(from);
}

}  // namespace anybit::kernels
