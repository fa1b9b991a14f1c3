// The search for the ranges of weights: every group of values with a scale of its own takes the range with
// the least squared error, out of multiples of the range of its values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.hpp"
#include "base/thread_pool.hpp"
#include "refine/rounding.hpp"

namespace anybit::quantizing {

// The multiples that are tried; the first one is 1, which wins ties.
std::span<const double> range_factors();

// errors(which, sums): adds Σ weight · error² of every group at the factor with that index.
using ErrorsAt = FunctionRef<std::size_t, std::span<double>>;
// The index of the best factor of each group. The result is the same for any number of threads.
std::vector<std::size_t> best_factors(std::size_t groups, const ErrorsAt& errors, ThreadPool& pool);

// The mean squares of the inputs that multiply the weights, one number for each weight, where `rounder` has
// the second moment; otherwise empty, and all weights count alike.
std::vector<float> importance_of(const Rounder& rounder, const Outputs& outputs);

}  // namespace anybit::quantizing
