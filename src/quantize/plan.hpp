// Computes the parameters of an annotation: activations from statistics, weights and biases from their
// values.
#pragma once

#include "base/thread_pool.hpp"
#include "calibrate/gather.hpp"
#include "quantize/annotation.hpp"
#include "quantize/quantize.hpp"
#include "quantize/weights.hpp"

namespace anybit::quantizing {

// The values to watch during calibration, in all graphs. `bins`: collect histograms of all of them.
std::vector<calibrate::Watched> watched(const Annotation& annotation, bool bins = false);

// `statistics` are in the order of watched(). Adds tensors, weights and remarks to the report, with
// histograms if the settings ask for them. `weights` keeps what later plans may need. Removes the notes of
// subgraphs that no sample reached.
Result<lower::GraphPlan> make_plan(Annotation& annotation,
                                   const std::vector<calibrate::Statistics>& statistics, ThreadPool& pool,
                                   QuantizationReport& report, const Settings& settings,
                                   QuantizedWeights& weights);

}  // namespace anybit::quantizing
