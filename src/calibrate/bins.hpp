// Collector of histograms: bins keyed by the upper 16 bits of a float32 (sign, exponent, 7 mantissa bits), so
// that a bin is never wider than 1/128 of its values. Counts are integers: exact, independent of order, and
// mergeable. At most 512 pages of 1 KB, allocated on demand.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

class Bins final : public CollectorOf<Bins> {
 public:
  static constexpr std::size_t kPages = 512, kPerPage = 128;
  using Page = std::array<std::uint64_t, kPerPage>;

  Bins() = default;
  Bins(const Bins& other);
  Bins(Bins&&) noexcept = default;
  Bins& operator=(Bins other) noexcept;

  // Bins 0 and 0x8000 hold zeros and magnitudes below 2^-133. They are counted in Extent::zeros and never
  // here, nor are infinities and NaN.
  void add(std::uint16_t key, std::uint64_t count);
  Result<void> merge(const Bins& other);
  std::uint64_t count(std::uint16_t key) const;
  std::uint64_t count_between(std::size_t first, std::size_t end) const;  // of the keys first … end - 1
  std::uint64_t total() const { return count_between(0, kPages * kPerPage); }
  bool empty() const { return total() == 0; }
  // null if it is empty
  const Page* page(std::size_t index) const { return pages_.empty() ? nullptr : pages_[index].get(); }
  Page& make_page(std::size_t index);
  // The memory in use, for limits and reports.
  std::size_t bytes() const;

  // The nonempty bins, sorted by value.
  struct Bin {
    float low, high;  // low < high
    std::uint64_t count;
  };
  std::vector<Bin> sorted() const;

  Result<void> see(const Look& look, Workbench& bench, std::mutex& guard) override;
  void make_room(const Collector& other) override;
  void write(JsonMembers& to) const override;
  Result<void> read(const JsonTree& from, const Extent& extent) override;
  // Visits the bins of sorted() without a copy. Pages entirely between `low` and `high` may be skipped.
  template <class See>
  void each(const See& see, float low = 0, float high = 0) const;

  friend bool operator==(const Bins& a, const Bins& b);

 private:
  std::vector<std::unique_ptr<Page>> pages_;  // empty, or kPages
};

// The magnitudes of a bin's edges. The key is without its sign.
inline float lower_edge(std::uint16_t top) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(top) << 16);
}
// The largest float for the last bin.
inline float upper_edge(std::uint16_t top) {
  constexpr std::uint16_t kInfinity = 0x7F80;
  return top + 1 < kInfinity ? lower_edge(static_cast<std::uint16_t>(top + 1))
                             : std::numeric_limits<float>::max();
}

template <class See>
void Bins::each(const See& see, float low, float high) const {
  if (pages_.empty()) return;
  constexpr std::size_t kHalf = kPages / 2;
  const auto ends_within = [](std::size_t page, float reach) {
    return upper_edge(static_cast<std::uint16_t>((page + 1) * kPerPage - 1)) <= reach;
  };
  for (std::size_t i = kHalf; i-- > 0;) {
    const Page* one = pages_[kHalf + i].get();
    if (!one || ends_within(i, -low)) continue;
    for (std::size_t k = kPerPage; k-- > 0;) {
      const auto top = static_cast<std::uint16_t>(i * kPerPage + k);
      if ((*one)[k] != 0) see(Bin{-upper_edge(top), -lower_edge(top), (*one)[k]});
    }
  }
  for (std::size_t i = 0; i < kHalf; ++i) {
    const Page* one = pages_[i].get();
    if (!one || ends_within(i, high)) continue;
    for (std::size_t k = 0; k < kPerPage; ++k) {
      const auto top = static_cast<std::uint16_t>(i * kPerPage + k);
      if ((*one)[k] != 0) see(Bin{lower_edge(top), upper_edge(top), (*one)[k]});
    }
  }
}

}  // namespace anybit::calibrate
