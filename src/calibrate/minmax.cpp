// minmax: the minimum and maximum over all samples. Nothing is clipped.
#include "calibrate/table.hpp"

namespace anybit::calibrate {
namespace {

Range choose(const Statistics& statistics, const Grid&, const Parameters&) {
  return {statistics.extent.min, statistics.extent.max};
}

}  // namespace

std::span<const Descriptor> minmax_descriptors() {
  static const Descriptor all[] = {
      {.name = "minmax", .summary = "minimum and maximum over all samples", .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
