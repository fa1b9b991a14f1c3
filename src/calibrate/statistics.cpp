#include "calibrate/statistics.hpp"

#include "base/error.hpp"
#include "base/try.hpp"

namespace anybit::calibrate {

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
  if (averages.momentum != other.averages.momentum) return averages.merge(other.averages);  // refuses
  if (extent.samples > 0 && other.extent.samples > 0 && has_bins != other.has_bins)
    return invalid_argument("statistics with bins cannot be merged with statistics without");
  for (const auto& [key, one] : other.further) {
    const auto mine = further.find(key);
    if (mine == further.end()) {
      if (extent.samples > 0 && other.extent.samples > 0)
        return invalid_argument(fmt::format("{} ({}) is in one of the two alone", key.first, key.second),
                                "ranges that were collected in the same way");
      further.emplace(key, one);
      continue;
    }
    auto done = mine->second->merge_with(*one);
    if (!done.ok()) return std::move(done).error().within(fmt::format("{} ({})", key.first, key.second));
  }
  for (const auto& [key, one] : further) {
    if (extent.samples > 0 && other.extent.samples > 0 && other.further.count(key) == 0)
      return invalid_argument(fmt::format("{} ({}) is in one of the two alone", key.first, key.second),
                              "ranges that were collected in the same way");
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
    if (mine == further.end()) continue;
    mine->second->make_room(*one);
  }
}

}  // namespace anybit::calibrate
