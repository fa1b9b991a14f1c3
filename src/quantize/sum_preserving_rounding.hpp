// Which of its two neighbours each weight is rounded to, so that every output of a product keeps the sum of
// its weights. Values that a product sums over rarely have a mean of zero (what follows an activation, blank
// paper in a picture): an error of the sum then shifts the whole output, while errors that cancel do not.
#pragma once

#include "quantize/rounding.hpp"

namespace anybit::quantizing {

struct SumOptions {
  // The square of the inputs' mean, in units of their variance: the errors d of the weights make an error of
  // the output of Σd² + mean²·(Σd)². Behind a Relu it is 1.75 for values that were normal before it, in
  // pictures more. Results hardly change from 2 to infinity.
  double mean = 4;
  int trims = 8;  // moves of each output by trim_sums() at the most: what is left is halved by each, or more
};

// Writes what every value becomes. Of the values that are cheap to move, the cheapest are, as long as what
// the sum gains is more than what the values lose. The same for any number of threads.
Rounded keep_sums(const float* values, const Outputs& outputs, const Neighbours& neighbours, float* kept,
                  ThreadPool& pool, const SumOptions& options = {});

// Goes on where an output has few weights: if their steps differ, as those of floats do, two neighbours of
// each leave much of the sum. Single weights of `kept` go to any value of the format, as long as their output
// gains by it.
void trim_sums(const float* values, const Outputs& outputs, const Nearest& nearest, std::span<float> kept,
               const SumOptions& options = {});

}  // namespace anybit::quantizing
