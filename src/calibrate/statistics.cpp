#include "calibrate/statistics.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::calibrate {
namespace {

// A collector that only one of the two ran would not cover all samples.
Result<void> check_same(const Statistics::Further& one, const Statistics::Further& other) {
  for (const auto& [key, collector] : one) {
    if (other.count(key) == 0)
      return invalid_argument(fmt::format("only one of the two has {} ({})", key.first, key.second),
                              "ranges that were collected in the same way");
  }
  return {};
}

}  // namespace

bool Statistics::has(std::string_view collector) const {
  if (collector == "moving-average") return has_averages;
  if (collector == "bins") return has_bins;
  return collector.empty() || collector == "extent" ||
         std::ranges::any_of(further, [&](const auto& one) { return one.first.first == collector; });
}

void Statistics::want(const Wanted& wanted) {
  const CollectorDescriptor* row = find_collector(wanted.collector);
  has_averages |= wanted.collector == "moving-average";
  has_bins |= wanted.collector == "bins";
  if (row && row->make)
    further.try_emplace({std::string(wanted.collector), wanted.view.text()}, row->make(wanted.view));
}

const Collector* Statistics::find(std::string_view collector, std::string_view view) const {
  const auto found = further.find(std::pair(std::string(collector), std::string(view)));
  return found == further.end() ? nullptr : &*found->second;
}

Result<void> Statistics::merge(const Statistics& other) {
  // returns an error
  if (averages.momentum != other.averages.momentum) return averages.merge(other.averages);
  if (extent.samples > 0 && other.extent.samples > 0) {
    if (has_bins != other.has_bins)
      return invalid_argument("statistics with bins cannot be merged with statistics without");
    TRY(check_same(further, other.further));
    TRY(check_same(other.further, further));
  }
  for (const auto& [key, one] : other.further) {
    const auto [mine, fresh] = further.try_emplace(key, one);
    if (fresh) continue;
    auto done = mine->second->merge_with(*one);
    if (!done.ok()) return std::move(done).error().within(fmt::format("{} ({})", key.first, key.second));
  }
  TRY(extent.merge(other.extent));
  TRY(averages.merge(other.averages));
  has_averages = has_averages || other.has_averages;
  has_bins = has_bins || other.has_bins;
  return bins.merge(other.bins);
}

void Statistics::make_room(const Statistics& other) {
  bins.make_room(other.bins);
  for (const auto& [key, one] : other.further) {
    const auto mine = further.find(key);
    if (mine != further.end()) mine->second->make_room(*one);
  }
}

}  // namespace anybit::calibrate
