#include "quantize/recall.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "calibrate/collector_table.hpp"

namespace anybit::quantizing {

Result<std::vector<calibrate::Statistics>> recall(const std::vector<calibrate::Watched>& names,
                                                  const KnownStatistics& known, std::int64_t& samples) {
  std::vector<calibrate::Statistics> statistics;
  for (const calibrate::Watched& one : names) {
    const auto found = known.find(one.name);
    if (found == known.end())
      return error_at(Code::not_found, {}, fmt::format("the ranges do not have '{}'", shown(one.name)),
                      "samples (--calib), or --no-prepare");
    const bool bins = std::ranges::count(one.collect, "bins", &calibrate::Wanted::collector) > 0;
    for (const calibrate::Wanted& wanted : one.collect) {
      const bool further = calibrate::find_collector(wanted.collector)->make != nullptr;
      if (further && !found->second.find(wanted.collector, wanted.view.text()))
        return error_at(Code::invalid_argument, {},
                        fmt::format("the ranges of '{}' have no {}, which a refinement needs",
                                    shown(one.name), wanted.collector),
                        fmt::format("calibrate with --collect {}", wanted.collector));
    }
    if (bins && !found->second.has_bins)
      return error_at(Code::invalid_argument, {},
                      fmt::format("the ranges of '{}' have no histogram, which the recipe's observer needs",
                                  shown(one.name)),
                      "calibrate without --observer minmax");
    statistics.push_back(found->second);
    samples = std::max(samples, found->second.extent.samples);
  }
  return statistics;
}

}  // namespace anybit::quantizing
