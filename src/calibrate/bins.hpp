// How often values of each size occur: counters keyed by a float's 16 leading bits (sign, exponent, 7 bits of
// the significand), so that a bin is never wider than 1/128 of what lies in it. Sums of whole numbers: exact,
// free of order, and two of them add up to one. At most 512 pages of 1 KB, and only those that are needed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace anybit::calibrate {

class Bins {
 public:
  static constexpr std::size_t kPages = 512, kPerPage = 128;
  using Page = std::array<std::uint64_t, kPerPage>;

  Bins() = default;
  Bins(const Bins& other);
  Bins(Bins&&) noexcept = default;
  Bins& operator=(Bins other) noexcept;

  // Bin 0 and bin 0x8000 are zeros and what is below 2^-133; they are one: zeros are counted apart
  // (Statistics::zeros), and never here. Nor are infinities and NaN.
  void add(std::uint16_t key, std::uint64_t count);
  void merge(const Bins& other);
  std::uint64_t count(std::uint16_t key) const;
  std::uint64_t count_between(std::size_t first, std::size_t end) const;  // of keys from first up to end
  std::uint64_t total() const { return count_between(0, kPages * kPerPage); }
  bool empty() const { return total() == 0; }
  // null if it has none.
  const Page* page(std::size_t index) const { return pages_.empty() ? nullptr : pages_[index].get(); }
  Page& make_page(std::size_t index);
  // Memory in use, for limits and reports.
  std::size_t bytes() const;

  // Bins that are not empty, by value.
  struct Bin {
    float low, high;  // low < high
    std::uint64_t count;
  };
  std::vector<Bin> sorted() const;

  friend bool operator==(const Bins& a, const Bins& b);

 private:
  std::vector<std::unique_ptr<Page>> pages_;  // none, or kPages
};

// The magnitudes of a bin's edges: key without the sign.
float lower_edge(std::uint16_t top);
float upper_edge(std::uint16_t top);  // the largest float for the last

}  // namespace anybit::calibrate
