// Sum-preserving rounding (related: SQuant, Guo et al., ICLR 2022): rounds each weight to one of its two
// neighbors so that every output channel keeps the sum of its weights. Inputs rarely have zero mean (after an
// activation function, or for images with a blank background): an error of the sum shifts the whole output,
// whereas single errors mostly cancel.
#pragma once

#include "refine/rounding.hpp"

namespace anybit::quantizing {

struct SumOptions {
  // The squared mean of the inputs relative to their variance: weight errors d cause an output error of Σd² +
  // mean²·(Σd)². It is 0.47 after a Relu of normally distributed values, 1.75 for their magnitudes, and more
  // for images. Results hardly change from 2 to infinity.
  double mean = 4;
  // maximum number of changes per output by refine_sums(); each at least halves the remaining error
  int trims = 8;
};

// Rounds all values. Changes the cheapest roundings first, as long as the sum gains more than the values
// lose. The result is the same for any number of threads.
Rounded preserve_sums(const float* values, const Outputs& outputs, const Neighbours& neighbours, float* kept,
                      ThreadPool& pool, const SumOptions& options = {});

// A second pass for outputs with few weights: if steps are not uniform, as for floats, choosing between two
// neighbors leaves a large error of the sum. Moves single weights of `kept` to any value of the format, as
// long as the output gains.
void refine_sums(const float* values, const Outputs& outputs, const Nearest& nearest, std::span<float> kept,
                 const SumOptions& options = {});

}  // namespace anybit::quantizing
