// GPTQ (Frantar et al., ICLR 2023) for any number format: rounds the weights of a layer one input after
// another, so that later weights compensate the errors of earlier ones on the inputs of the calibration data.
#pragma once

#include "refine/rounding.hpp"
#include "refine/unit_factor.hpp"

namespace anybit::quantizing {

struct GptqOptions {
  double damp = 0.01;       // added to the diagonal of H, relative to its mean
  bool act_order = true;    // inputs with large squares first
  std::int64_t sweeps = 2;  // of coordinate descent afterwards
};

// Rounds the outputs [first, first + count) of a tensor, whose inputs have the second moment `moment`.
// `nearest` are the values rounded to nearest: what remains of inputs that are always zero. Returns the
// squared error of the layer's outputs relative to that of `nearest`, weighted by `moment`.
struct OutputError {
  double nearest = 0, rounded = 0;
};
OutputError round_by_moment(const Square& moment, const RoundingTask& task, std::int64_t first,
                            std::int64_t count, const GptqOptions& options);

}  // namespace anybit::quantizing
