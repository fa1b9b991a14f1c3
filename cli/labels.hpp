// The correct classes of samples, from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "anybit/result.hpp"

namespace anybit::cli {

// A .npy of integers, or text with one per line.
Result<std::vector<std::int64_t>> read_labels(const std::string& path);

// Counts top-1 and top-5 hits sample by sample: each sample takes as many labels as its scores have rows.
class LabelCounter {
 public:
  // `single`: there is one sample, which takes all labels.
  LabelCounter(std::vector<std::int64_t> labels, bool single) : labels_(std::move(labels)), single_(single) {}

  Result<void> add(const Value& scores);
  // `spare`: more labels than rows are allowed.
  Result<Hits> finish(bool spare) const;

 private:
  std::vector<std::int64_t> labels_;
  bool single_;
  Hits hits_;
};

}  // namespace anybit::cli
