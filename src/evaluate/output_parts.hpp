// The parts of a model output: runs of channels with one scale and one kind of values. A detector's output
// may hold box coordinates, scores and mask coefficients side by side; measured together, the largest values
// hide the error of the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "evaluate/channel_sums.hpp"
#include "evaluate/class_rows.hpp"

namespace anybit::evaluate {

// Channels [first, last] of an axis.
struct ChannelRun {
  std::size_t first = 0, last = 0;
  bool probabilities = false;  // all values in [0, 1]
  ChannelSums sums;
};

// Splits channels into runs; a single run if no split describes the data better.
std::vector<ChannelRun> split_channels(std::span<const ChannelSums> channels);

// Gathers an output over all samples and splits it in the end.
class OutputParts {
 public:
  // Both spans have the same length, that of `dims`.
  void add(std::span<const std::int64_t> dims, std::span<const float> reference,
           std::span<const float> other);
  // At least one part if anything was added.
  std::vector<OutputPart> parts(const std::string& output) const;

 private:
  void choose_axes(std::size_t rank);

  bool started_ = false, same_rank_ = true;
  std::size_t rank_ = 0;
  ChannelSums whole_;
  std::vector<AxisSums> axes_;
  std::vector<ClassRows> rows_;
};

}  // namespace anybit::evaluate
