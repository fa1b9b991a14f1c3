// mse: the range with the smallest mean squared quantization error, clipping included.
#include "calibrate/grid_error.hpp"
#include "calibrate/search.hpp"

namespace anybit::calibrate {
namespace {

Range choose(const Statistics& statistics, const Grid& grid, const Parameters&) {
  const GridError error(statistics, grid);
  return best_range(statistics, grid,
                    {.cost = [&](const Range& range, double bound) { return error.of(range, bound); }});
}

}  // namespace

std::span<const Descriptor> mse_descriptors() {
  static const Descriptor all[] = {{.name = "mse",
                                    .summary = "the range with the smallest mean squared quantization error",
                                    .needs = "bins",
                                    .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
