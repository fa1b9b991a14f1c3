// `refine: bias-correction` (Nagel et al., Data-Free Quantization, ICCV 2019): measures on calibration data
// by how much quantization shifts the mean of each output channel, and subtracts the shift from the bias
// (shift_bias.hpp). If an activation function follows, the mean is weighted by its slopes
// (shift_estimate.hpp). This costs no bytes. Errors of single values mostly cancel, whereas a shifted mean
// looks like a signal to later layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/model.hpp"
#include "refine/chosen_samples.hpp"
#include "refine/layer_sums.hpp"
#include "runtime/executor.hpp"

namespace anybit::quantizing {

// Runs the float model, on as many samples as fit into the memory side by side.
Result<FloatSums> float_sums(const graph::Model& floating,
                             const std::shared_ptr<const MeasuredLayers>& layers,
                             std::span<const Sample> samples, const runtime::ExecutorOptions& with);

// Returns by how much the (weighted) mean of each output channel of a node is too low in `quantized`, after
// all preceding nodes are corrected. The values are multiples of the bias scale if the bias is quantized.
// Empty for nodes where it cannot be measured. The result is the same for any number of threads.
// `known`: sums of the float model, with which it is not run.
Result<std::vector<std::vector<double>>> mean_errors(
    const graph::Model& floating, const graph::Model& quantized, std::span<const int> nodes,
    std::span<const Sample> samples, const runtime::ExecutorOptions& with, const FloatSums& known = {});

}  // namespace anybit::quantizing
