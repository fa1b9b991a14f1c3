// `refine: bias-correction`: what rounding moves the mean of an output by is measured on samples and taken
// off the bias (shift_bias.hpp), which costs no bytes. (Nagel et al., Data-Free Quantization, ICCV 2019.)
// Errors of single values are many and cancel; one of the mean is the same at every place, and later layers
// cannot tell it from a signal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/model.hpp"
#include "quantize/chosen_samples.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

// By how much the mean of each channel of a node's output is too low in `quantized` once those of all nodes
// before it are right: in whole steps of the bias, if it has steps. Empty for a node of which this cannot be
// told. The same for any number of threads, of which `with` says how many there are.
Result<std::vector<std::vector<double>>> mean_errors(const graph::Model& floating,
                                                     const graph::Model& quantized,
                                                     std::span<const int> nodes,
                                                     std::span<const Sample> samples,
                                                     const runtime::ExecutorOptions& with);

}  // namespace anybit::quantizing
