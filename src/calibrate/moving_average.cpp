// moving_average: exponential moving averages of each sample's minimum and maximum. Depends on the order of
// the samples.
#include "calibrate/table.hpp"

namespace anybit::calibrate {
namespace {

Range choose(const Statistics& statistics, const Grid&, const Parameters&) {
  return {static_cast<float>(statistics.averages.min.value),
          static_cast<float>(statistics.averages.max.value)};
}

}  // namespace

std::span<const Descriptor> moving_average_descriptors() {
  static const Descriptor all[] = {{.name = "moving_average",
                                    .summary = "moving average of each sample's minimum and maximum",
                                    .needs = "moving-average",
                                    .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
