// Two models on the same samples: how far apart are they? Usually a float model and what became of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "anybit/samples.hpp"

namespace anybit {

// Sums over all samples.
struct Difference {
  std::string name;        // of the value in the reference
  std::string op;          // that makes it; empty for outputs
  std::int64_t count = 0;  // elements
  double signal_to_noise =
      0;                     // dB; 200 if there is no difference, -Inf if one has NaN where the other has not
  double cosine = 1;         // between all the values
  double largest_error = 0;  // of any element
  double largest_value = 0;  // in the reference
  // Samples for which the models give different shapes, as where lengths depend on the data: nothing of them
  // is in the sums.
  std::int64_t skipped = 0;
};

struct Comparison {
  std::int64_t samples = 0;
  std::vector<Difference> outputs;   // in the order of the reference
  std::vector<Difference> layers;    // values that both have, in the order they are made
  std::vector<std::string> remarks;  // what could not be compared, and why
  // Where the first output is a row of scores for each sample: how often both have the largest at the same
  // place.
  std::int64_t rows = 0, agreed = 0;
  // With labels: how often the largest score, or one of the five largest, is at the label.
  std::int64_t labelled = 0;
  std::int64_t reference_top1 = 0, reference_top5 = 0, other_top1 = 0, other_top5 = 0;
};

struct CompareOptions {
  int threads = 0;                   // 0: one for each core
  std::int64_t max_memory = 0;       // bytes for values of each model; 0: no limit
  bool layers = true;                // look at the values between, too
  std::vector<std::int64_t> labels;  // one for each of the samples' rows, in order; or none at all
  bool spare_labels = false;         // there may be more of them: those of samples that are left out
  std::function<void(std::int64_t done)> progress = {};
};

// A value of the reference is compared with the one of the same name, or with what a DequantizeLinear makes
// of its quantized values ("x_DequantizeLinear_Output"). Random operators without a seed draw the same in
// both models.
ANYBIT_API Result<Comparison> compare(const Model& reference, const Model& other, Samples& samples,
                                      const CompareOptions& options = {}) noexcept;

// One model by itself: how often the largest score of a row, or one of the five largest, is at the row's
// label.
struct Hits {
  std::int64_t rows = 0, top1 = 0, top5 = 0;
};
// `scores`: what a model gave, a row (the last axis) for each label.
ANYBIT_API Result<Hits> count_hits(const Value& scores, const std::vector<std::int64_t>& labels) noexcept;

}  // namespace anybit
