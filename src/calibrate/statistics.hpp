// The statistics of one value: the results of its collectors. All but the moving averages are independent of
// order: merging the statistics of parts gives those of the whole, bit for bit.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "calibrate/bins.hpp"
#include "calibrate/collector_table.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/moving_averages.hpp"

namespace anybit::calibrate {

// An owning pointer to a collector with value semantics.
class HeldCollector {
 public:
  explicit HeldCollector(std::unique_ptr<Collector> collector) : collector_(std::move(collector)) {}
  HeldCollector(const HeldCollector& other) : collector_(other->copy()) {}
  HeldCollector(HeldCollector&&) noexcept = default;
  HeldCollector& operator=(HeldCollector other) noexcept {
    collector_.swap(other.collector_);
    return *this;
  }
  ~HeldCollector() = default;
  Collector* operator->() const { return collector_.get(); }
  Collector& operator*() const { return *collector_; }
  friend bool operator==(const HeldCollector& a, const HeldCollector& b) { return a->equals(*b); }

 private:
  std::unique_ptr<Collector> collector_;
};

struct Statistics {
  Extent extent;
  bool has_averages = false;
  MovingAverages averages;
  bool has_bins = false;
  Bins bins;  // of the nonzero finite values
  // Collectors of layer inputs, by collector name and text of the view.
  using Further = std::map<std::pair<std::string, std::string>, HeldCollector>;
  Further further;

  bool has(std::string_view collector) const;
  void want(const Wanted& wanted);
  // null if there is none
  const Collector* find(std::string_view collector, std::string_view view) const;
  // An error if the momenta or the sets of collectors differ, or if the collected data is incompatible.
  Result<void> merge(const Statistics& other);
  // Allocates the memory that merging needs, so that the merge itself cannot fail half-way.
  void make_room(const Statistics& other);
  // Visits all collectors, the extent first.
  template <class See>
  void each(const See& see) {
    see(static_cast<Collector&>(extent));
    if (has_averages) see(static_cast<Collector&>(averages));
    if (has_bins) see(static_cast<Collector&>(bins));
    for (auto& [key, one] : further) see(*one);
  }
  friend bool operator==(const Statistics&, const Statistics&) = default;
};

}  // namespace anybit::calibrate
