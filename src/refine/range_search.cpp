#include "refine/range_search.hpp"

#include <algorithm>

#include "calibrate/second_moment.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {

// Above 1: formats whose scales are powers of two clip the largest values at their own choice.
std::span<const double> range_factors() {
  static constexpr double kFactors[] = {1,   2,    1.4, 1.2,  1.1, 0.95, 0.9, 0.85,
                                        0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45};
  return kFactors;
}

std::vector<std::size_t> best_factors(std::size_t groups, const ErrorsAt& errors, ThreadPool& pool) {
  const std::size_t factors = range_factors().size();
  std::vector<std::vector<double>> sums(factors);
  pool.run(static_cast<std::int64_t>(factors), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      sums[i].resize(groups);
      errors(i, sums[i]);
    }
  });
  std::vector<std::size_t> best(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    for (std::size_t i = 1; i < factors; ++i) {
      if (sums[i][group] < sums[best[group]][group]) best[group] = i;
    }
  }
  return best;
}

std::vector<float> importance_of(const Rounder& rounder, const Outputs& outputs) {
  for (const calibrate::Collector* one : rounder.collected) {
    const auto* seen = dynamic_cast<const calibrate::SecondMoment*>(one);
    if (!seen || seen->rows() == 0 || outputs.length != seen->length() || outputs.count % seen->groups() != 0)
      continue;
    const std::int64_t in_group = outputs.count / seen->groups();
    std::vector<float> squares(static_cast<std::size_t>(seen->groups() * outputs.length));
    double mean = 0;
    for (std::int64_t i = 0; i < std::ssize(squares); ++i) {
      const double square = seen->at(i / outputs.length, i % outputs.length, i % outputs.length) /
                            static_cast<double>(seen->rows());
      squares[static_cast<std::size_t>(i)] = static_cast<float>(square);
      mean += square / static_cast<double>(squares.size());
    }
    if (!(mean > 0)) continue;
    // Inputs that were zero in these samples count a little.
    for (float& one : squares) one += static_cast<float>(0.01 * mean);
    std::vector<float> all(static_cast<std::size_t>(outputs.count * outputs.length));
    for (std::int64_t output = 0; output < outputs.count; ++output) {
      for (std::int64_t k = 0; k < outputs.length; ++k)
        all[static_cast<std::size_t>(output * outputs.stride + k * outputs.step)] =
            squares[static_cast<std::size_t>(output / in_group * outputs.length + k)];
    }
    return all;
  }
  return {};
}

std::span<const Descriptor> range_search_descriptors() {
  static const Descriptor all[] = {
      {.name = "range-search",
       .alias = "mse",
       .summary = "range search: the scales of weights with the least squared error",
       .phase = Descriptor::Phase::ranges}};
  return all;
}

}  // namespace anybit::quantizing
