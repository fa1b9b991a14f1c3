// When is a part of an output ok, degraded or broken? The thresholds of docs/verdict.md, fixed before any
// model was measured with them.
#pragma once

#include <string>

#include "anybit/compare.hpp"

namespace anybit::evaluate {

Level level_of(const OutputPart& part);
// The loss of a part in units of what "ok" permits, as a number that grows with every change: noise relative
// to signal, or the divergence of classes. Decisions flip or do not, and say nothing of how close they were.
double harm_of(const OutputPart& part);
// With labels: by the points of top-1 accuracy that are lost.
Level level_of_labels(const Comparison& comparison);

// By a measure of the caller's, of which more is better.
Level level_of_measure(double before, double after);

// "output0, channels 4-83 (scores): 1.4 dB, keeps 0 of 31 values above 0.25".
std::string reason_of(const OutputPart& part);
std::string reason_of_labels(const Comparison& comparison);

}  // namespace anybit::evaluate
