// Numbers for an annotation: parameters of activations from statistics, codes of weights and biases.
#pragma once

#include "base/thread_pool.hpp"
#include "calibrate/gather.hpp"
#include "quantize/annotation.hpp"
#include "quantize/quantize.hpp"

namespace anybit::quantizing {

// What has to be seen while samples run: one entry for each value, at any depth. `bins`: of all of them.
std::vector<calibrate::Watched> watched(const Annotation& annotation, bool bins = false);

// `statistics` in the order of watched(). The report gets tensors, weights and remarks; histograms if the
// settings ask for them. Notes of a graph that no sample entered are taken back.
Result<lower::GraphPlan> make_plan(Annotation& annotation,
                                   const std::vector<calibrate::Statistics>& statistics, ThreadPool& pool,
                                   QuantizationReport& report, const Settings& settings);

}  // namespace anybit::quantizing
