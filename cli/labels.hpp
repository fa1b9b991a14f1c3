// The right classes of samples, from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "anybit/result.hpp"

namespace anybit::cli {

// A .npy of whole numbers, or text with one on each line.
Result<std::vector<std::int64_t>> read_labels(const std::string& path);

// Hits of the scores of one sample after the other: each takes as many labels as it has rows.
class LabelCounter {
 public:
  // `single`: all labels are for the one sample there is.
  LabelCounter(std::vector<std::int64_t> labels, bool single) : labels_(std::move(labels)), single_(single) {}

  Result<void> add(const Value& scores);
  // `spare`: more labels than rows are fine.
  Result<Hits> finish(bool spare) const;

 private:
  std::vector<std::int64_t> labels_;
  bool single_;
  Hits hits_;
};

}  // namespace anybit::cli
